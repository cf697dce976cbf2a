/** What became of probes, by container: as many figures as there are probes, so they have a path of their own (`/metrics/probes`). */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { labelled } from '#kubelet/stats/metric-lines.ts'

export type ProbeOutcome = 'successful' | 'failed' | 'unknown'

const kindNames = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' } as const

export class ProbeMetrics {
  /** By pod and then by labels: pods that are gone are forgotten with all their figures. */
  readonly #counts = new Map<string, Map<string, number>>()

  count(pod: V1Pod, container: string, kind: keyof typeof kindNames, result: ProbeOutcome): void {
    const { name = '', namespace = '', uid = '' } = pod.metadata
    const labels = labelled({ container, namespace, pod: name, pod_uid: uid, probe_type: kindNames[kind], result })
    const counts = this.#counts.get(uid) ?? new Map<string, number>()
    counts.set(labels, (counts.get(labels) ?? 0) + 1)
    this.#counts.set(uid, counts)
  }

  forget(podUid: string): void {
    this.#counts.delete(podUid)
  }

  text(): string {
    const lines = [
      '# HELP prober_probe_total [BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.',
      '# TYPE prober_probe_total counter',
    ]
    for (const counts of this.#counts.values()) for (const [labels, count] of counts) lines.push(`prober_probe_total${labels} ${count}`)
    return `${lines.join('\n')}\n`
  }
}
