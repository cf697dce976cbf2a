import type { V1Event } from '#api/core/v1/types.gen.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { interval, lastSeen } from '#cli/commands/events.ts'
import type { Description } from './description.ts'

/** Undefined where they cannot be read. */
export async function eventsOf(call: Call, object: ApiObject): Promise<V1Event[] | undefined> {
  const rest = await call.session.rest
  const { name = '', namespace = '', uid = '' } = object.metadata ?? {}
  const fieldSelector = [
    `involvedObject.name=${name}`,
    ...(namespace === '' ? [] : [`involvedObject.namespace=${namespace}`]),
    `involvedObject.kind=${object.kind}`,
    `involvedObject.uid=${uid}`,
  ].join(',')
  // Events of objects without a namespace may lie in any.
  const path = namespace === '' ? '/api/v1/events' : `/api/v1/namespaces/${namespace}/events`
  try {
    return (await rest.json<{ items: V1Event[] }>({ path, query: { fieldSelector, limit: 500 } })).items
  } catch {
    // Events are an extra of a description: without the permission to read them it has none, as with upstream.
    return undefined
  }
}

export function describeEvents(out: Description, events: readonly V1Event[] | undefined): void {
  if (events === undefined) return
  if (events.length === 0) {
    out.field(0, 'Events', '<none>')
    return
  }
  out.write(0, 'Events:\n')
  out.write(1, 'Type\tReason\tAge\tFrom\tMessage\n')
  out.write(1, '----\t------\t----\t----\t-------\n')
  for (const event of events.toSorted((one, other) => lastSeen(one) - lastSeen(other))) {
    const { type = '', reason = '', message = '', source, reportingComponent, involvedObject } = event
    const path = involvedObject.fieldPath ? `${involvedObject.fieldPath}: ` : ''
    out.write(
      1,
      `${type}\t${reason}\t${interval(event, out.nowMs)}\t${source?.component || reportingComponent || ''}\t${path}${message.trim()}\n`,
    )
  }
}
