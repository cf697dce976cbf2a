/** One thread of the data plane. */
import { systemClock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { systemRandom } from '#base/random.ts'
import { threadSide } from '#base/worker.ts'
import { IngressProxy, type ProxyListener, type ProxyUpdate } from '#ingress/data-plane/ingress-proxy.ts'
import type { RouteCounts } from '#ingress/data-plane/request-counts.ts'

export type ThreadOrder =
  | { kind: 'update'; update: ProxyUpdate }
  | { kind: 'listen'; id: number; at: ProxyListener }
  | { kind: 'unlisten'; at: Pick<ProxyListener, 'host' | 'port'> }
  | { kind: 'drain'; id: number; forMs: number }

export type ThreadReport =
  | { kind: 'done'; id: number; port: number }
  | { kind: 'failed'; id: number; message: string }
  | { kind: 'complaint'; message: string }
  | { kind: 'counts'; counts: RouteCounts[] }

const { post, onMessage } = threadSide<ThreadOrder, ThreadReport>()
const proxy = new IngressProxy({
  clock: systemClock,
  random: systemRandom,
  onError: (message) => post({ kind: 'complaint', message }),
})

/** Between two reports of what was done. */
const reportMs = 1000
systemClock.every(reportMs, () => {
  const counts = proxy.counts.take()
  if (counts.length > 0) post({ kind: 'counts', counts })
})

onMessage((order) => {
  if (order.kind === 'update') proxy.apply(order.update)
  else if (order.kind === 'unlisten') proxy.unlisten(order.at)
  else if (order.kind === 'listen') {
    proxy.listen(order.at).then(
      (port) => post({ kind: 'done', id: order.id, port }),
      (error: unknown) => post({ kind: 'failed', id: order.id, message: errorMessage(error) }),
    )
  } else {
    void proxy.drain(systemClock.sleep(order.forMs)).then(() => {
      proxy.close()
      post({ kind: 'done', id: order.id, port: 0 })
    })
  }
})
