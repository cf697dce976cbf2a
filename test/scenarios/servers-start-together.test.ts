/** API servers that begin on one empty store at the same moment. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { ConfigMap, Service } from '#api/core/v1/kinds.gen.ts'
import { IPAddress } from '#api/networking/v1/kinds.gen.ts'
import { ClusterRole } from '#api/rbac/v1/kinds.gen.ts'
import { standardFrontProxy } from '#apiserver/access/front-proxy.ts'
import { type Random, seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import type { Store } from '#store/store.ts'
import { fakeApiServer } from '#testing/fake-cluster.ts'

/** As if it were elsewhere: every answer takes its time, and changes are heard of late. */
function distant(store: Store, clock: VirtualClock, random: Random): Store {
  const late = async <T>(work: () => Promise<T>): Promise<T> => {
    await clock.sleep(random.int(20))
    const outcome = await work()
    await clock.sleep(random.int(20))
    return outcome
  }
  const changed: Partial<Store> = {
    range: (request) => late(() => store.range(request)),
    txn: (transaction) => late(() => store.txn(transaction)),
    watch(request) {
      const watch = store.watch({
        ...request,
        // Later than any answer, and still in order.
        onEvents: (events, revision) => void clock.after(40, () => request.onEvents(events, revision)),
      })
      const progress = async () => {
        const reached = await watch.progress()
        await clock.sleep(41)
        return reached
      }
      return { cancel: watch.cancel, [Symbol.dispose]: watch.cancel, progress }
    },
  }
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(changed, name) ?? Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function whileTimePasses<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  let isOver = false
  const settled = work.finally(() => {
    isOver = true
  })
  while (!isOver) await clock.advance(5)
  return settled
}

for (const seed of [1, 2, 3, 4]) {
  test(`three of them all become ready, and nothing is there twice (seed ${seed})`, async () => {
    const clock = new VirtualClock()
    const random = seededRandom(seed)
    const store = new MemoryStore({ clock })
    const starts = ['one', 'two', 'three'].map((hostName) =>
      fakeApiServer(clock, random, [], {
        store: distant(store, clock, random),
        sharesStore: true,
        aggregatesClusterRoles: true,
        hostName,
        frontProxy: { ...standardFrontProxy, requestheaderAllowedNames: [`proxy-${hostName}`] },
      }),
    )
    const outcomes = await whileTimePasses(clock, Promise.allSettled(starts))
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    const servers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    await clock.advance(1000)
    for (const { server } of servers) {
      const { cluster } = server
      const service = cluster.get(Service, 'default', 'kubernetes') as { spec?: { clusterIP?: string } } | undefined
      assert.equal(service?.spec?.clusterIP, '10.96.0.1')
      const addresses = cluster.list(IPAddress)
      assert.deepEqual(
        addresses.map(({ metadata }) => metadata?.name),
        ['10.96.0.1'],
      )
      assert.equal(cluster.list(Lease, 'kube-system').length, 3)
      const { data } = cluster.get(ConfigMap, 'kube-system', 'extension-apiserver-authentication') ?? {}
      assert.deepEqual(JSON.parse(data?.['requestheader-allowed-names'] ?? '').sort(), ['proxy-one', 'proxy-three', 'proxy-two'])
      const admin = cluster.get(ClusterRole, 'admin') as { rules?: unknown[] } | undefined
      assert.ok((admin?.rules?.length ?? 0) > 10)
      const services = cluster.list(APIService) as { status?: { conditions?: unknown[] } }[]
      assert.ok(services.every(({ status }) => status?.conditions?.length === 1))
    }
    await whileTimePasses(clock, Promise.all(servers.map((server) => server.stop())))
    await store.close()
  })
}
