/** `kubectl get --watch`: a line for each change, until it is interrupted. */
import { parseJson } from '#api/codec/parse-json.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError } from '#cli/cli-error.ts'
import { getFormats, printerFor } from '#cli/print/printer.ts'
import { TabWriter } from '#cli/print/tab-writer.ts'
import { isTable, TablePrinter } from '#cli/print/table.ts'
import { hasManifests, readManifestsStrictly } from '#cli/resources/read-manifests.ts'
import { selectFlags, selectResources } from '#cli/resources/select-resources.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'
import { isHuman, showsColours, tableAccept, tableOptions } from './get.ts'

export type WatchTarget = { type: ResourceType; namespace: string; name: string; selector: string; fieldSelector: string }
export type WatchEvent = { type: string; object: ApiObject }

export async function watchResources(call: Call): Promise<void> {
  const { flags, host, session } = call
  if (flags.text('sort-by') !== '') host.complain('warning: --watch requested, --sort-by will be ignored for watch events received\n')
  const [target, ...more] = await watchTargets(call)
  if (target === undefined) return
  const asTable = isHuman(call)
  if (asTable && showsColours(call) && !flags.isOn('watch-only') && !flags.isOn('output-watch-events')) {
    const { redrawTable } = await import('#cli/ui/redraw-table.ts')
    return redrawTable(call, target)
  }
  const print = await printOf(call, target, asTable)
  const rest = await session.rest
  // Several are shown, and refused only then.
  const shown = more.length === 0 || flags.isOn('watch-only') ? [] : [target, ...more]
  for (const { type, namespace, name } of shown)
    print({
      type: 'ADDED',
      object: await rest.json<ApiObject>({ path: resourcePath(type, namespace, name), accept: asTable ? tableAccept : 'application/json' }),
    })
  if (more.length > 0) throw new CliError('you may only watch a single resource or type of resource at a time')
  const accept = asTable ? tableAccept : 'application/json'
  const query = target.name === '' ? { labelSelector: target.selector, fieldSelector: target.fieldSelector } : {}
  const list = await rest.json<ApiObject>({ path: resourcePath(target.type, target.namespace, target.name), accept, query })
  const isList = target.name === ''
  const items = isList && !asTable ? ((list['items'] as ApiObject[] | undefined) ?? []) : [list]
  if (!flags.isOn('watch-only')) {
    for (const item of items)
      print({ type: 'ADDED', object: isList && !asTable ? { kind: target.type.kind, apiVersion: list.apiVersion ?? '', ...item } : item })
  }
  const resourceVersion = list.metadata?.resourceVersion ?? tableVersion(list) ?? ''
  try {
    for await (const event of watchEvents(call, target, { resourceVersion, accept })) print(event)
  } catch (error) {
    if (!host.interrupted.aborted) throw error
  }
}

/** The version of an object that a table shows alone. */
function tableVersion(list: ApiObject): string | undefined {
  return isTable(list) ? list.rows[0]?.object?.metadata?.resourceVersion : undefined
}

async function watchTargets(call: Call): Promise<WatchTarget[]> {
  const select = { args: call.args, ...selectFlags(call), typeAloneIsEnough: true }
  const { selector = '', fieldSelector = '' } = select
  if (hasManifests(call) && call.args.length === 0) {
    const infos = await readManifestsStrictly(call)
    const [only] = infos
    if (only === undefined || infos.length > 1) throw new CliError('you may only specify a single resource type')
    return [{ type: only.type, namespace: only.namespace, name: only.name, selector: '', fieldSelector: '' }]
  }
  const selection = await selectResources(call, select)
  const namespace = select.allNamespaces ? '' : await call.session.namespace()
  const types = selection.by === 'names' ? selection.items.map(({ type }) => type) : selection.types
  if (new Set(types).size > 1) throw new CliError('you may only specify a single resource type')
  const type = types[0] as ResourceType
  const names = selection.by === 'names' ? selection.items.map(({ name }) => name) : ['']
  return names.map((name) => ({ type, namespace: type.isNamespaced ? namespace : '', name, selector, fieldSelector }))
}

async function printOf(call: Call, { type }: WatchTarget, asTable: boolean): Promise<(event: WatchEvent) => void> {
  const { flags, host } = call
  const showsEvents = flags.isOn('output-watch-events')
  if (!asTable) {
    const printer = await printerFor(call, { formats: getFormats })
    if (showsEvents && printer !== undefined) {
      const { watchEventPrinter } = await import('#cli/print/watch-event-printer.ts')
      const printEvent = watchEventPrinter(flags.text('output'), printer)
      return (event) => host.write(printEvent(event))
    }
    return ({ object }) => {
      if (printer !== undefined) host.write(printer(object))
    }
  }
  const tables = new TablePrinter(
    tableOptions(call, type, { withNamespace: flags.isOn('all-namespaces') && type.isNamespaced, withKind: flags.isOn('show-kind') }),
  )
  const out = new TabWriter()
  return ({ type: kind, object }) => {
    if (!isTable(object)) return
    tables.print(object, out, showsEvents ? kind.padEnd(8) : '')
    host.write(out.flush())
  }
}

/** Until the server ends the connection, or the user the command. A connection that breaks is opened anew where it stopped. */
export async function* watchEvents(
  { session, host }: Call,
  { type, namespace, name, selector, fieldSelector }: WatchTarget,
  {
    resourceVersion,
    accept = 'application/json',
    signal = host.interrupted,
  }: { resourceVersion: string; accept?: string; signal?: AbortSignal },
): AsyncGenerator<WatchEvent> {
  const rest = await session.rest
  let last = resourceVersion
  const field = name === '' ? fieldSelector : `metadata.name=${name}`
  while (!signal.aborted) {
    const response = await rest.open({
      path: resourcePath(type, namespace),
      accept,
      signal,
      query: { watch: 'true', resourceVersion: last, labelSelector: selector, fieldSelector: field },
    })
    try {
      for await (const line of linesOf(response.chunks())) {
        const event = parseJson(line) as WatchEvent
        if (event.type === 'ERROR') throw new ApiError(event.object as ConstructorParameters<typeof ApiError>[0])
        last = event.object.metadata?.resourceVersion || tableVersion(event.object) || last
        if (event.type !== 'BOOKMARK') yield event
      }
    } catch (error) {
      if (signal.aborted || error instanceof ApiError) throw error
      if (rest.hasTimeout) return
      await host.clock.sleep(1000, signal)
    }
    if (rest.hasTimeout) return
  }
}

export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield line
  }
  if (rest.trim() !== '') yield rest
}
