import { after } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { openEtcdStore } from '#store/etcd/etcd-store.ts'
import { type EtcdServer, etcdMissing, startEtcd } from './etcd-server.ts'
import { describeStore } from './store.ts'

let server: Promise<EtcdServer> | undefined
after(async () => (await server)?.[Symbol.asyncDispose]())

describeStore({
  name: 'etcd',
  skip: etcdMissing,
  async open() {
    server ??= startEtcd()
    const { endpoint } = await server
    // Our own timers are virtual; etcd's are not.
    const clock = Object.assign(new VirtualClock(), { soon: systemClock.soon })
    const store = await openEtcdStore({ clock, logger: silentLogger, endpoints: [endpoint] })
    for (const { id } of await store.leases()) {
      await store.revokeLease(id).catch((error: Error) => {
        // It has run out meanwhile.
        if (error.name !== 'LeaseNotFoundError') throw error
      })
    }
    await store.txn({ success: [{ delete: { prefix: '' } }] })
    return { store, clock, [Symbol.asyncDispose]: () => store.close() }
  },
})
