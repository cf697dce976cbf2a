/** `kubectl get`: tables as the server makes them, or objects in the form that is asked for. */
import type { ApiList, ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll } from '#cli/cli-error.ts'
import { getFormats, printerFor } from '#cli/print/printer.ts'
import { NoPath, NoSuchField, sortedBy } from '#cli/print/sort-objects.ts'
import { TabWriter } from '#cli/print/tab-writer.ts'
import { isTable, type Row, type Table, TablePrinter } from '#cli/print/table.ts'
import { listAll, listError } from '#cli/resources/find-infos.ts'
import { infoPath } from '#cli/resources/info.ts'
import { hasManifests, readManifests } from '#cli/resources/read-manifests.ts'
import { selectFlags, selectResources } from '#cli/resources/select-resources.ts'
import { selectorTest } from '#cli/resources/selector-test.ts'
import { resourcePath, singularText } from '#cli/session/resource-types.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'

export const tableAccept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json'

/** What one request brought: a table, an object or a list. */
export type Fetched = { type: ResourceType; object: ApiObject; isList: boolean }

export async function get(call: Call): Promise<void> {
  const { flags, host, args } = call
  if (flags.text('raw') !== '') return getRaw(call)
  if (args.length === 0 && !hasManifests(call)) {
    host.complain(
      'You must specify the type of resource to get. Use "kubectl api-resources" for a complete list of supported resources.\n\n',
    )
    throw new CliError(
      `Required resource not specified.\nUse "kubectl explain <resource>" for a detailed description of that resource (e.g. kubectl explain pods).\nSee 'kubectl get -h' for help and examples`,
    )
  }
  checkFlags(call)
  if (flags.isOn('watch') || flags.isOn('watch-only')) {
    const { watchResources } = await import('./get-watch.ts')
    return watchResources(call)
  }
  const isTableOutput = isHuman(call)
  const { fetched, errors, isSingle } = await fetchAll(call, isTableOutput && flags.isOn('server-print'))
  if ((isTableOutput && fetched.length === 0) || isSingle) throwAll(errors)
  const printer = isTableOutput ? undefined : await printerFor(call, { formats: getFormats })
  if (printer === undefined) await printTables(call, fetched, errors)
  else {
    const sorted = sortFetched(call, fetched)
    const [only] = sorted
    if (only === undefined && isSingle && errors.length === 0) return
    if (isSingle && sorted.length === 1 && only !== undefined) host.write(printer(only))
    else host.write(printer({ apiVersion: 'v1', items: sorted, kind: 'List', metadata: { resourceVersion: '' } } as ApiObject))
  }
  throwAll(errors)
}

export const isHuman = ({ flags }: Call): boolean =>
  (flags.text('output') === '' || flags.text('output') === 'wide') && flags.text('template') === ''

function checkFlags({ flags }: Call): void {
  if (flags.isOn('output-watch-events') && !flags.isOn('watch') && !flags.isOn('watch-only'))
    throw new CliError('--output-watch-events option can only be used with --watch or --watch-only')
  const output = flags.text('output')
  if (flags.isOn('show-labels') && output !== '' && output !== 'wide')
    throw new CliError(`--show-labels option cannot be used with ${output} printer`)
}

async function getRaw({ flags, host, args, session }: Call): Promise<void> {
  if (args.length > 0) throw new CliError('arguments may not be passed when --raw is specified')
  const raw = flags.text('raw')
  if (flags.isOn('watch') || flags.isOn('watch-only') || flags.text('selector') !== '')
    throw new CliError('--raw may not be specified with other flags that filter the server request or alter the output')
  if (flags.text('output') !== '') throw new CliError('--raw and --output are mutually exclusive')
  if (!raw.startsWith('/') && !/^\w+:\/\/./.test(raw))
    throw new CliError(`--raw must be a valid URL path: parse ${JSON.stringify(raw)}: invalid URI for request`)
  const rest = await session.rest
  // Of a whole address the path alone counts.
  const response = await rest.open({ path: raw.replace(/^\w+:\/\/[^/]*/, '') || '/', accept: '*/*' })
  for await (const chunk of response.chunks()) host.write(chunk)
}

/** In the order of the command line; refusals beside what was found. */
async function fetchAll(call: Call, asTable: boolean): Promise<{ fetched: Fetched[]; errors: unknown[]; isSingle: boolean }> {
  const { flags, session } = call
  const fetched: Fetched[] = []
  const errors: unknown[] = []
  const rest = await session.rest
  const accept = asTable ? tableAccept : 'application/json'
  const subresource = flags.text('subresource')
  const query = asTable && flags.text('sort-by') !== '' ? { includeObject: 'Object' } : {}
  const isWanted = hasManifests(call) ? selectorTest(flags.text('selector')) : () => true
  const one = async (type: ResourceType, namespace: string, name: string) => {
    try {
      const path = infoPath({ type, namespace: type.isNamespaced ? namespace : '', name }, subresource)
      const object = await rest.json<ApiObject>({ path, accept, query })
      if (isWanted((isTable(object) && object.rows[0]?.object) || object)) fetched.push({ type, object, isList: false })
    } catch (error) {
      if (!(error instanceof ApiError && error.isNotFound && flags.isOn('ignore-not-found'))) errors.push(error)
    }
  }
  if (hasManifests(call) && call.args.length === 0) {
    const read = await readManifests(call)
    for (const each of read) {
      if ('error' in each) errors.push(each.error)
      else await one(each.info.type, each.info.namespace, each.info.name)
    }
    return { fetched, errors, isSingle: (await isOneFile(call)) && (fetched.length > 0 || flags.text('selector') === '') }
  }
  const select = { args: call.args, ...selectFlags(call), typeAloneIsEnough: true }
  const selection = await selectResources(call, select)
  const namespace = select.allNamespaces ? '' : await session.namespace()
  if (selection.by === 'names') {
    for (const { type, name } of selection.items) await one(type, namespace, name)
    return { fetched, errors, isSingle: selection.isSingle }
  }
  if (subresource !== '') throw new CliError('subresource cannot be used when bulk resources are specified')
  const chunkSize = flags.text('sort-by') === '' ? flags.number('chunk-size') : 0
  for (const type of selection.types) {
    const place = type.isNamespaced ? namespace : ''
    try {
      if (asTable)
        for await (const table of tables(call, type, place, chunkSize, query)) fetched.push({ type, object: table, isList: true })
      else {
        const list = await listAll(call, type, {
          namespace: place,
          selector: select.selector ?? '',
          fieldSelector: select.fieldSelector ?? '',
          chunkSize,
        })
        fetched.push({ type, object: list, isList: true })
      }
    } catch (error) {
      errors.push(asTable ? listError(error, type, select.selector ?? '', select.fieldSelector ?? '') : error)
    }
  }
  return { fetched, errors, isSingle: false }
}

/** One file is meant to hold one object, whatever it does hold. */
async function isOneFile({ flags, host }: Call): Promise<boolean> {
  const [path, ...more] = flags.list('filename')
  if (path === undefined) return true
  return more.length === 0 && path !== '-' && (await host.files.statTarget(path))?.kind !== 'directory'
}

async function* tables(
  { flags, session }: Call,
  type: ResourceType,
  namespace: string,
  chunkSize: number,
  query: Record<string, string>,
): AsyncGenerator<ApiObject> {
  const rest = await session.rest
  for (let token = ''; ; ) {
    const table = await rest.json<ApiObject>({
      path: resourcePath(type, namespace),
      accept: tableAccept,
      query: {
        ...query,
        labelSelector: flags.text('selector'),
        fieldSelector: flags.text('field-selector'),
        limit: chunkSize > 0 ? chunkSize : undefined,
        continue: token,
      },
    })
    yield table
    token = table.metadata?.continue ?? ''
    if (token === '') return
  }
}

function sortFetched({ flags }: Call, fetched: readonly Fetched[]): ApiObject[] {
  const objects = fetched.flatMap(({ object, isList }) => (isList ? (object as ApiList).items : [object]))
  const field = flags.text('sort-by')
  return field === '' || objects.length === 0 ? objects : sortedBy(objects, field, (object) => object)
}

/** Colours are for people on a terminal who have not asked for none. */
export const showsColours = ({ host }: Call): boolean =>
  host.isForPeople === true && host.terminal.outputIsTerminal && !host.environment['NO_COLOR'] && host.environment['TERM'] !== 'dumb'

async function printTables(call: Call, fetched: readonly Fetched[], errors: readonly unknown[]): Promise<void> {
  const { flags } = call
  const { colouredTable } = showsColours(call) ? await import('#cli/print/colours.ts') : { colouredTable: undefined }
  const hasHeadings = !flags.isOn('no-headers')
  const host = {
    complain: (text: string) => call.host.complain(text),
    write: (text: string) => call.host.write(colouredTable?.(text, { hasHeadings }) ?? text),
  }
  const out = new TabWriter()
  const allNamespaces = flags.isOn('all-namespaces')
  const kinds = new Set(fetched.map(({ type }) => `${type.group}/${type.kind}`))
  const withKind = flags.isOn('show-kind') || kinds.size > 1
  let last: ResourceType | undefined
  let printer: TablePrinter | undefined
  let wasWritten = false
  for (const { type, object } of ordered(call, fetched)) {
    const table = isTable(object) ? object : await tableOf(call, type, object)
    if (last !== type || printer === undefined) {
      const text = out.flush()
      out.forgetWidths()
      if (text !== '') host.write((wasWritten && !flags.isOn('no-headers') ? '\n' : '') + text)
      wasWritten ||= text !== ''
      printer = new TablePrinter(tableOptions(call, type, { withNamespace: allNamespaces && type.isNamespaced, withKind }))
      last = type
    }
    printer.print(table, out)
  }
  const text = out.flush()
  if (text !== '') host.write((wasWritten && !flags.isOn('no-headers') ? '\n' : '') + text)
  if (text !== '' || wasWritten || errors.length > 0 || flags.isOn('ignore-not-found')) return
  const isClusterWide = allNamespaces || (fetched.length > 0 && fetched.every(({ type }) => !type.isNamespaced))
  host.complain(isClusterWide ? 'No resources found\n' : `No resources found in ${await call.session.namespace()} namespace.\n`)
}

export function tableOptions(
  { flags }: Call,
  type: ResourceType,
  { withNamespace, withKind }: { withNamespace: boolean; withKind: boolean },
) {
  return {
    noHeaders: flags.isOn('no-headers'),
    isWide: flags.text('output') === 'wide',
    withNamespace,
    kindPrefix: withKind ? singularText(type) : '',
    showLabels: flags.isOn('show-labels'),
    labelColumns: flags.list('label-columns'),
  }
}

/** A field that no object has leaves nothing to show, oddly, and so does what is no path. */
function ordered(call: Call, fetched: readonly Fetched[]): readonly Fetched[] {
  try {
    return inOrder(call, fetched)
  } catch (error) {
    if (error instanceof NoSuchField || error instanceof NoPath) return []
    throw error
  }
}

/** With `--sort-by`, the rows of tables are sorted; objects one by one are sorted among each other. */
function inOrder({ flags }: Call, fetched: readonly Fetched[]): readonly Fetched[] {
  const field = flags.text('sort-by')
  if (field === '') return fetched
  const rows = fetched.flatMap(({ type, object }) => (isTable(object) ? object.rows.map((row) => ({ type, object, row })) : []))
  if (rows.length === 0) return fetched
  const isMixed = new Set(fetched.map(({ type }) => type)).size > 1
  const only = (table: Table, sorted: readonly { row: Row }[]): Fetched['object'] =>
    ({ ...table, rows: sorted.map(({ row }) => row) }) as unknown as ApiObject
  if (isMixed)
    return fetched.map((each) =>
      isTable(each.object) && each.object.rows.length > 0
        ? {
            ...each,
            object: only(
              each.object,
              sortedBy(each.object.rows, field, ({ object }) => object).map((row) => ({ row })),
            ),
          }
        : each,
    )
  const [first] = fetched
  if (first === undefined || !isTable(first.object)) return fetched
  return [
    {
      ...first,
      object: only(
        first.object,
        sortedBy(rows, field, ({ row }) => row.object),
      ),
    },
  ]
}

/** For servers that make no tables. */
async function tableOf(_call: Call, type: ResourceType, object: ApiObject): Promise<Table> {
  const { ageOf } = await import('#api/meta/human-duration.ts')
  const items = Array.isArray(object['items']) ? (object['items'] as ApiObject[]) : [object]
  return {
    kind: 'Table',
    columnDefinitions: [
      { name: 'Name', type: 'string', format: 'name' },
      { name: 'Age', type: 'string' },
    ],
    rows: items.map((item) => ({
      cells: [item.metadata?.name ?? type.kind, ageOf(item.metadata?.creationTimestamp, _call.host.clock.now())],
      object: item,
    })),
  }
}
