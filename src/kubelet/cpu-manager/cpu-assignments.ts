/** Which container has which processors for itself, and which are left to all others; written down as it changes. */
import type { Files } from '#base/files.ts'
import { CheckpointFile } from '#kubelet/checkpoint-file.ts'
import { type CpuSet, formatCpuSet, noCpus, parseCpuSet, sameCpus } from '#kubelet/topology/cpu-set.ts'

type Written = { policyName: string; defaultCpuSet: string; entries?: Record<string, Record<string, string>> }

export class CpuAssignments {
  readonly #file: CheckpointFile<Written>
  readonly #policyName: string
  readonly #entries = new Map<string, Map<string, CpuSet>>()
  shared: CpuSet = noCpus

  constructor(files: Files, path: string, policyName: string) {
    this.#file = new CheckpointFile(files, path)
    this.#policyName = policyName
  }

  /** Throws where another policy, or a broken disk, has left a state that cannot be gone on with. */
  async load(): Promise<void> {
    const advice = `please drain this node and delete the CPU manager checkpoint file "${this.#file.path}" before restarting Kubelet`
    const written = await this.#file.read().catch((error: unknown): never => {
      throw new Error(`could not restore state from checkpoint: ${String(error)}, ${advice}`)
    })
    if (written === undefined) return
    if (written.policyName !== this.#policyName) {
      const why = `configured policy "${this.#policyName}" differs from state checkpoint policy "${written.policyName}"`
      throw new Error(`could not restore state from checkpoint: ${why}, ${advice}`)
    }
    this.shared = parseCpuSet(written.defaultCpuSet)
    for (const [uid, containers] of Object.entries(written.entries ?? {})) {
      this.#entries.set(uid, new Map(Object.entries(containers).map(([name, cpus]) => [name, parseCpuSet(cpus)])))
    }
  }

  save(): Promise<void> {
    const entries = Object.fromEntries(
      [...this.#entries].map(([uid, containers]) => [
        uid,
        Object.fromEntries([...containers].map(([name, cpus]) => [name, formatCpuSet(cpus)])),
      ]),
    )
    const state = { policyName: this.#policyName, defaultCpuSet: formatCpuSet(this.shared) }
    return this.#file.write(this.#entries.size === 0 ? state : { ...state, entries })
  }

  of(podUid: string, container: string): CpuSet | undefined {
    return this.#entries.get(podUid)?.get(container)
  }

  get podUids(): string[] {
    return [...this.#entries.keys()]
  }

  get all(): CpuSet[] {
    return [...this.#entries.values()].flatMap((containers) => [...containers.values()])
  }

  set(podUid: string, container: string, cpus: CpuSet): void {
    const containers = this.#entries.get(podUid) ?? new Map<string, CpuSet>()
    containers.set(container, cpus)
    this.#entries.set(podUid, containers)
    this.shared = this.shared.difference(cpus)
  }

  /** What it had is everybody's again. */
  forget(podUid: string): void {
    for (const cpus of this.#entries.get(podUid)?.values() ?? []) this.shared = this.shared.union(cpus)
    this.#entries.delete(podUid)
  }

  /** Throws where what was written down cannot be true of these processors. */
  verify(all: CpuSet, reserved: CpuSet, isStrict: boolean): void {
    if (this.shared.size === 0) {
      if (this.#entries.size > 0) throw new Error('default cpuset cannot be empty')
      this.shared = isStrict ? all.difference(reserved) : all
      return
    }
    const kept = reserved.intersection(this.shared)
    if (isStrict && kept.size > 0) {
      throw new Error(
        `some of strictly reserved cpus: "${formatCpuSet(kept)}" are present in defaultCpuSet: "${formatCpuSet(this.shared)}"`,
      )
    }
    if (!isStrict && kept.size !== reserved.size) {
      throw new Error(`not all reserved cpus: "${formatCpuSet(reserved)}" are present in defaultCpuSet: "${formatCpuSet(this.shared)}"`)
    }
    let known = this.shared
    for (const [uid, containers] of this.#entries) {
      for (const [name, cpus] of containers) {
        if (!cpus.isDisjointFrom(this.shared)) {
          const place = `pod: ${uid}, container: ${name}`
          throw new Error(`${place} cpuset: "${formatCpuSet(cpus)}" overlaps with default cpuset "${formatCpuSet(this.shared)}"`)
        }
        known = known.union(cpus)
      }
    }
    const expected = isStrict ? all.difference(reserved) : all
    if (!sameCpus(known, expected)) {
      const words = `current set of available CPUs "${formatCpuSet(expected)}" doesn't match with CPUs in state`
      throw new Error(`${words} "${formatCpuSet(known)}"`)
    }
  }
}
