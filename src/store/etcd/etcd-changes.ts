import { keyValueOf } from '#store/etcd/key-bytes.ts'
import type { Change } from '#store/mvcc/history.ts'
import type { StoreEvent } from '#store/store.ts'
import { etcdMethods, eventTypes, type PbEvent } from '#wire/etcd-messages.ts'

/** Events of one message, a change for each revision. etcd never splits a revision between messages. */
export function changesOf(events: PbEvent[]): Change[] {
  const changes: Change[] = []
  for (const pb of events) {
    if (!pb.kv) continue
    const kv = keyValueOf(pb.kv)
    const prev = pb.prevKv && keyValueOf(pb.prevKv)
    const event: StoreEvent = { type: pb.type === eventTypes.delete ? 'delete' : 'put', kv, prev }
    const last = changes.at(-1)
    if (last?.revision === kv.modRevision) last.events.push(event)
    else changes.push({ revision: kv.modRevision, events: [event] })
  }
  return changes
}

/** A watch of every key there is. */
export function watchEverything(fromRevision: number): Uint8Array {
  const everything = Buffer.from([0])
  const createRequest = { key: everything, rangeEnd: everything, startRevision: fromRevision, prevKv: true, progressNotify: true }
  return etcdMethods.watch.encodeRequest({ createRequest })
}
