/** `/pods` and `/runningpods/`: what should run here, and what does. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { HttpExchange } from '#base/http-server.ts'
import type { ServerParts } from '#kubelet/server/kubelet-server.ts'
import { respondJson } from '#kubelet/server/refusal.ts'

export function pods(exchange: HttpExchange, { allPods }: ServerParts): void {
  respondJson(exchange, podList(allPods().map(({ kind: _kind, apiVersion: _version, ...pod }) => pod)))
}

export async function runningPods(exchange: HttpExchange, { runtime, allPods }: ServerParts): Promise<void> {
  const known = new Map(allPods().map((pod) => [pod.metadata.uid ?? '', pod]))
  const items: Partial<V1Pod>[] = []
  for (const uid of await runtime.podUids()) {
    const { containers } = await runtime.observe(uid)
    const running = containers.filter(({ state }) => state === 'running')
    if (running.length === 0) continue
    const { name = '', namespace = '' } = known.get(uid)?.metadata ?? {}
    items.push({
      metadata: { name, namespace, uid },
      spec: { containers: running.map((container) => ({ name: container.name, image: container.image, resources: {} })) },
      status: {},
    })
  }
  respondJson(exchange, podList(items))
}

function podList(items: readonly object[]): object {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items }
}
