import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { parseDurationMs } from '#base/duration.ts'
import type { HttpClient } from '#base/http-client.ts'
import { trimEndOf } from '#base/trim-end.ts'
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import type { ConfiguredExtender } from '#scheduler/config/configuration.ts'
import type { Extender, ExtenderFilterAnswer, Victims } from '#scheduler/extender/extender.ts'

const defaultTimeoutMs = 5000

/** A program that is asked over HTTP, in upstream's words. */
export function httpExtender(configured: ConfiguredExtender, http: Pick<HttpClient, 'request'>, clock: Clock): Extender {
  const {
    urlPrefix,
    filterVerb,
    prioritizeVerb,
    preemptVerb,
    bindVerb,
    weight = 1,
    nodeCacheCapable = false,
    managedResources = [],
  } = configured
  const timeoutMs = parseDurationMs(configured.httpTimeout ?? '0s') || defaultTimeoutMs
  const managed = new Set(managedResources.map(({ name }) => name))

  return {
    name: urlPrefix,
    isIgnorable: configured.ignorable === true,
    filters: Boolean(filterVerb),
    prioritizes: Boolean(prioritizeVerb),
    binds: Boolean(bindVerb),
    preempts: Boolean(preemptVerb),
    weight,

    /** One that manages resources is asked only about pods that use one of them. */
    isInterested({ pod }) {
      if (managed.size === 0) return true
      const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers]
      return containers.some(({ resources }) =>
        Object.keys({ ...resources?.requests, ...resources?.limits }).some((name) => managed.has(name)),
      )
    },

    async filter(pod, nodes): Promise<ExtenderFilterAnswer> {
      const answer = await ask(filterVerb, { Pod: pod.pod, ...nodesAsked(nodes) })
      const error = field(answer, 'Error')
      if (error) throw new Error(String(error))
      const names = namesIn(answer)
      const byName = new Map(nodes.map((node) => [node.name, node]))
      const feasible = names.map((name) => {
        const node = byName.get(name)
        if (node === undefined)
          throw new Error(`extender "${urlPrefix}" claims a filtered node "${name}" which is not found in the input node list`)
        return node
      })
      return { feasible, failed: reasonsIn(answer, 'FailedNodes'), failedForGood: reasonsIn(answer, 'FailedAndUnresolvableNodes') }
    },

    async prioritize(pod, nodes) {
      const answer = await ask(prioritizeVerb, { Pod: pod.pod, ...nodesAsked(nodes) })
      const scores = new Map<string, number>()
      for (const entry of Array.isArray(answer) ? answer : []) scores.set(String(field(entry, 'Host')), Number(field(entry, 'Score') ?? 0))
      return scores
    },

    async bind({ namespace, name, uid }, nodeName) {
      const answer = await ask(bindVerb, { PodName: name, PodNamespace: namespace, PodUID: uid, Node: nodeName })
      const error = field(answer, 'Error')
      if (error) throw new Error(String(error))
    },

    async processPreemption(pod, candidates) {
      const asked = [...candidates].map(
        ([nodeName, victims]) => [nodeName, nodeCacheCapable ? metaVictims(victims) : fullVictims(victims)] as const,
      )
      const answer = await ask(preemptVerb, {
        Pod: pod.pod,
        [nodeCacheCapable ? 'NodeNameToMetaVictims' : 'NodeNameToVictims']: Object.fromEntries(asked),
      })
      const left = new Map<string, Victims>()
      for (const [nodeName, given] of Object.entries((field(answer, 'NodeNameToMetaVictims') ?? {}) as Record<string, unknown>)) {
        const known = candidates.get(nodeName)?.pods ?? []
        const pods: PodInfo[] = []
        for (const meta of (field(given, 'Pods') ?? []) as unknown[]) {
          const victim = known.find(({ uid }) => uid === field(meta, 'UID'))
          if (victim === undefined)
            throw new Error(
              `extender: ${urlPrefix} claims to preempt pod (UID: ${field(meta, 'UID')}) on node: ${nodeName}, but the pod is not found on that node`,
            )
          pods.push(victim)
        }
        if (pods.length > 0) left.set(nodeName, { pods, budgetViolations: Number(field(given, 'NumPDBViolations') ?? 0) })
        else if (!configured.ignorable) throw new Error(`expected at least one victim pod on node "${nodeName}"`)
      }
      return left
    },
  }

  function nodesAsked(nodes: readonly NodeInfo[]): object {
    if (nodeCacheCapable) return { NodeNames: nodes.map(({ name }) => name) }
    return { Nodes: { apiVersion: 'v1', kind: 'NodeList', items: nodes.map(({ node }) => node) } }
  }

  function namesIn(answer: unknown): string[] {
    const names = field(answer, 'NodeNames')
    if (nodeCacheCapable && Array.isArray(names)) return names.map(String)
    const items = field(field(answer, 'Nodes'), 'items')
    return Array.isArray(items) ? (items as V1Node[]).map(({ metadata }) => metadata.name ?? '') : []
  }

  async function ask(verb: string | undefined, body: object): Promise<unknown> {
    const url = `${trimEndOf(urlPrefix, '/')}/${verb}`
    const timeout = new AbortController()
    const timer = clock.after(timeoutMs, () => timeout.abort(new Error(`extender ${url} did not answer within ${timeoutMs} ms`)))
    try {
      const response = await http.request({
        url,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: timeout.signal,
      })
      const text = await response.text()
      if (response.status !== 200) throw new Error(`failed ${verb} with extender at URL ${url}, code ${response.status}`)
      return text === '' ? undefined : JSON.parse(text)
    } finally {
      timer.cancel()
    }
  }
}

/** Upstream's decoder does not care for the case of names, so answers come in all of them. */
function field(value: unknown, name: string): unknown {
  if (value === null || typeof value !== 'object') return undefined
  const wanted = name.toLowerCase()
  for (const key in value) if (key.toLowerCase() === wanted) return (value as Record<string, unknown>)[key]
  return undefined
}

function reasonsIn(answer: unknown, name: string): Map<string, string> {
  return new Map(Object.entries((field(answer, name) ?? {}) as Record<string, string>))
}

const metaVictims = ({ pods, budgetViolations }: Victims) => ({
  Pods: pods.map(({ uid }) => ({ UID: uid })),
  NumPDBViolations: budgetViolations,
})
const fullVictims = ({ pods, budgetViolations }: Victims) => ({ Pods: pods.map(({ pod }) => pod), NumPDBViolations: budgetViolations })
