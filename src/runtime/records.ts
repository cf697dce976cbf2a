/** What is known of sandboxes and containers, kept in a file each, so that the next agent knows it too. */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { ProcessSpec } from '#runtime/launch/process-spec.ts'
import type { LivingProcess } from '#runtime/living-process.ts'
import type { PodUsers } from '#runtime/user-namespace.ts'
import type { ContainerConfig, LinuxResources, SandboxConfig } from '#wire/cri/cri-types.ts'

export type SandboxRecord = {
  id: string
  config: SandboxConfig
  runtimeHandler: string
  createdNanos: string
  process: LivingProcess
  ips: string[]
  /** Has no namespaces of its own any more, nor addresses. */
  isStopped: boolean
  cgroup: string
}

export type ContainerRecord = {
  id: string
  sandboxId: string
  config: Omit<ContainerConfig, 'envs'>
  /** `NAME=value`, those of the image included. */
  env: string[]
  imageId: string
  state: 'created' | 'running' | 'exited'
  createdNanos: string
  startedNanos: string
  finishedNanos: string
  exitCode: number
  reason: string
  message: string
  process?: LivingProcess
  monitor?: LivingProcess
  cgroup: string
  logFile: string
  resources: LinuxResources
  stopSignal: string
  user: { uid: number; gid: number; groups: number[] }
  /** How further processes are started in it. */
  identity?: Pick<ProcessSpec, 'directory' | 'hasNoNewPrivileges' | 'maySetGroups'> & {
    capabilities: string
    ambient: string
    seccomp?: string
  }
  hasCgroupNamespace: boolean
  /** Of its pod; absent where those are the node's. */
  users?: PodUsers
}

export class Records<Record extends { id: string }> {
  readonly #files: Files
  readonly #directory: string
  readonly #name: string
  readonly #all = new Map<string, Record>()

  constructor(files: Files, directory: string, name: string) {
    this.#files = files
    this.#directory = directory
    this.#name = name
  }

  /** Ids of directories without a record that can be read are what was never finished. */
  async load(): Promise<{ unfinished: string[] }> {
    await this.#files.makeDirectory(this.#directory)
    const unfinished: string[] = []
    for (const id of await this.#files.list(this.#directory)) {
      try {
        this.#all.set(id, JSON.parse(await this.#files.readText(this.#path(id))) as Record)
      } catch {
        // One that was being written when the power went: its container is removed.
        unfinished.push(id)
      }
    }
    return { unfinished }
  }

  get(id: string): Record | undefined {
    return this.#all.get(id)
  }

  /** Also by the beginning of an id, where no other begins the same. */
  find(id: string): Record | undefined {
    const exact = this.#all.get(id)
    if (exact !== undefined || id === '') return exact
    const found = [...this.#all.values()].filter((record) => record.id.startsWith(id))
    return found.length === 1 ? found[0] : undefined
  }

  all(): Record[] {
    return [...this.#all.values()]
  }

  async save(record: Record): Promise<void> {
    this.#all.set(record.id, record)
    // Processes do not survive a power cut: neither need what is known of them.
    await this.#files.write(this.#path(record.id), JSON.stringify(record), { survivesPowerCut: false })
  }

  forget(id: string): void {
    this.#all.delete(id)
  }

  #path(id: string): string {
    return join(this.#directory, id, this.#name)
  }
}
