/** `kubectl events` */
import type { V1Event } from '#api/core/v1/types.gen.ts'
import { humanDuration } from '#api/meta/human-duration.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, PlainError } from '#cli/cli-error.ts'
import { asTyped } from '#cli/create/create-object.ts'
import { printerFor } from '#cli/print/printer.ts'
import { TabWriter } from '#cli/print/tab-writer.ts'
import { apiVersionOf } from '#cli/session/resource-types.ts'

export async function events(call: Call): Promise<void> {
  const { flags, host, session } = call
  const namespace = flags.isOn('all-namespaces') ? '' : await session.namespace()
  const fieldSelector = await selectorFor(call)
  const types = flags.list('types').map((type) => type.toLowerCase())
  if (types.some((type) => type !== 'normal' && type !== 'warning')) throw new CliError('valid --types are Normal or Warning')
  const isWanted = ({ type = '' }: V1Event) => types.length === 0 || types.includes(type.toLowerCase())
  const printer = await printerFor(call)
  const rest = await session.rest
  const path = `/api/v1${namespace === '' ? '' : `/namespaces/${namespace}`}/events`
  const items: V1Event[] = []
  let resourceVersion = ''
  for (let token = ''; ; ) {
    const list = await rest.json<{ metadata: { continue?: string; resourceVersion?: string }; items: V1Event[] }>({
      path,
      query: { fieldSelector, limit: 500, continue: token },
    })
    items.push(...list.items.filter(isWanted))
    resourceVersion = list.metadata.resourceVersion ?? ''
    token = list.metadata.continue ?? ''
    if (token === '') break
  }
  const out = new TabWriter()
  let hasHeadings = flags.isOn('no-headers')
  const show = (event: V1Event) => {
    if (!hasHeadings) out.row([...(namespace === '' ? ['NAMESPACE'] : []), 'LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'])
    hasHeadings = true
    const { kind = '', name = '' } = event.involvedObject
    out.row([
      ...(namespace === '' ? [event.metadata?.namespace ?? ''] : []),
      interval(event, host.clock.now()),
      event.type ?? '',
      event.reason ?? '',
      `${kind}/${name}`,
      (event.message ?? '').trim(),
    ])
  }
  const sorted = items.toSorted((one, other) => lastSeen(one) - lastSeen(other))
  if (flags.isOn('watch')) {
    const { watchEvents } = await import('./get-watch.ts')
    const type = await (await session.types).named('events')
    for (const event of sorted) show(event)
    host.write(out.flush())
    for await (const event of watchEvents(
      call,
      { type: { ...type, group: '', version: 'v1' }, namespace, name: '', selector: '', fieldSelector },
      { resourceVersion },
    )) {
      const object = event.object as unknown as V1Event
      if (event.type === 'DELETED' || !isWanted(object)) continue
      if (printer !== undefined) host.write(printer(event.object))
      else {
        show(object)
        host.write(out.flush())
      }
    }
    return
  }
  if (sorted.length === 0) {
    host.complain(namespace === '' ? 'No events found.\n' : `No events found in ${namespace} namespace.\n`)
    return
  }
  if (printer !== undefined) {
    host.write(
      printer(
        asTyped({
          kind: 'EventList',
          apiVersion: 'v1',
          metadata: {},
          items: sorted.map((event) => ({ kind: 'Event', apiVersion: 'v1', ...event })),
        } as unknown as ApiObject),
      ),
    )
    return
  }
  for (const event of sorted) show(event)
  host.write(out.flush())
}

async function selectorFor({ flags, session }: Call): Promise<string> {
  const text = flags.text('for')
  if (text === '') return ''
  const [resource = '', name, ...more] = text.split('/')
  if (name === undefined) throw new CliError('--for must be in resource/name form')
  if (more.length > 0) throw new CliError('arguments in resource/name form may not have more than one slash')
  if (resource === '') throw new CliError('a resource must be present, got: /, Resource=')
  const type = await (await session.types).find(resource)
  if (type === undefined) throw new PlainError(`the server doesn't have a resource type ${JSON.stringify(resource)}`)
  // Without a name kubectl asks for the events of everything.
  if (name === '') return ''
  return `involvedObject.kind=${type.kind},involvedObject.apiVersion=${apiVersionOf(type)},involvedObject.name=${name}`
}

export function lastSeen({ series, lastTimestamp, eventTime, firstTimestamp }: V1Event): number {
  const time = series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? firstTimestamp
  return time ? Date.parse(time) : 0
}

/** `5m`, or how often in which time: `10s (x5 over 3m)`. */
export function interval({ eventTime, firstTimestamp, lastTimestamp, series, count = 0 }: V1Event, nowMs: number): string {
  const since = (time: string | undefined | null) => (time ? humanDuration(nowMs - Date.parse(time)) : '<unknown>')
  const first = since(eventTime ?? firstTimestamp)
  if (series) return `${since(series.lastObservedTime)} (x${series.count} over ${first})`
  return count > 1 ? `${since(lastTimestamp)} (x${count} over ${first})` : first
}
