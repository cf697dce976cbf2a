/** `kubectl taint` */
import { labelValue, qualifiedName } from '#api/meta/names.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, throwAll, usageError } from '#cli/cli-error.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { type Info, infoPath } from '#cli/resources/info.ts'
import { dryRunOf } from '#cli/write-options.ts'

type Taint = { key: string; value?: string; effect?: string; timeAdded?: string }

export async function taint(call: Call): Promise<void> {
  const { flags, args, host } = call
  const resources: string[] = []
  const specs: string[] = []
  for (const arg of args) {
    const isSpec = arg.includes('=') || arg.includes(':') || arg.endsWith('-')
    if (isSpec) specs.push(arg)
    else if (specs.length > 0) throw new CliError(`all resources must be specified before taint changes: ${arg}`)
    else resources.push(arg)
  }
  if (resources.length < 1) throw new CliError('one or more resources must be specified as <resource> <name>')
  if (specs.length < 1) throw new CliError('at least one taint update is required')
  const { add, remove } = parsedTaints(specs)
  if (flags.isOn('all') && flags.text('selector') !== '')
    throw new CliError("setting 'all' parameter with a non empty selector is prohibited")
  if (!flags.isOn('all') && flags.text('selector') === '' && resources.length < 2)
    throw new CliError("at least one resource name must be specified since 'all' parameter is not set")
  if (!['node', 'nodes', 'no'].includes(resources[0]?.split('/')[0] ?? ''))
    throw new CliError(`invalid resource type ${resources[0]}, only node types are supported`)
  const both = add.filter((each) => remove.some((other) => sameTaint(each, other))).map(taintText)
  if (both.length > 0) throw new CliError(`can not both modify and remove the following taint(s) in the same command: ${both.join(', ')}`)
  const { infos, errors } = await findInfos(call, { args: resources })
  for (const info of infos) {
    try {
      const { operation, object } = await change(call, info, add, remove)
      host.write((await resultPrinter(call, operation))(object))
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}

const sameTaint = (one: Taint, other: Taint): boolean =>
  one.key === other.key && (other.effect === undefined || other.effect === '' || one.effect === other.effect)
const taintText = ({ key, value, effect }: Taint): string => `${key}${value ? `=${value}` : ''}${effect ? `:${effect}` : ''}`

function parsedTaints(specs: readonly string[]): { add: Taint[]; remove: Taint[] } {
  const add: Taint[] = []
  const remove: Taint[] = []
  const fail = (spec: string, why = ''): never => {
    throw usageError('taint', `invalid taint spec: ${spec}${why === '' ? '' : `, ${why}`}`)
  }
  for (const spec of specs) {
    const isRemoval = spec.endsWith('-')
    const text = isRemoval ? spec.slice(0, -1) : spec
    const [place = '', effect = '', ...more] = text.split(':')
    const [key = '', value, ...others] = place.split('=')
    if (more.length > 0 || others.length > 0) fail(spec)
    if (!isRemoval && effect === '') fail(spec)
    if (effect !== '' && !['NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect))
      throw usageError('taint', `invalid taint effect: ${effect}, unsupported taint effect`)
    const problems = [...qualifiedName(key), ...(value === undefined ? [] : labelValue(value))]
    if (problems.length > 0) fail(spec, problems.join('; '))
    if (isRemoval) remove.push({ key, ...(effect === '' ? {} : { effect }) })
    else {
      if (add.some((each) => each.key === key && each.effect === effect))
        throw usageError('taint', `duplicated taints with the same key and effect: {${key} ${value ?? ''} ${effect} <nil>}`)
      add.push({ key, ...(value ? { value } : {}), effect })
    }
  }
  return { add, remove }
}

async function change(
  call: Call,
  info: Info,
  add: readonly Taint[],
  remove: readonly Taint[],
): Promise<{ operation: string; object: ApiObject }> {
  const { flags, session } = call
  const spec = (info.object['spec'] ?? {}) as { taints?: Taint[] }
  const current = spec.taints ?? []
  const same = (one: Taint, other: Taint) => one.key === other.key && one.effect === other.effect
  if (!flags.isOn('overwrite')) {
    const exists = add.filter((each) => current.some((old) => same(old, each)))
    if (exists.length > 0)
      throw new CliError(
        `node ${info.name} already has [${[...new Set(exists.map(({ key }) => key))].join(' ')}] taint(s) with same effect(s) and --overwrite is false`,
      )
  }
  const missing = remove.filter((each) => !current.some((old) => sameTaint(old, each)))
  if (missing.length > 0) throw new CliError(missing.map((each) => `taint ${JSON.stringify(taintText(each))} not found`).join(', '))
  const kept = current.filter((old) => !remove.some((each) => sameTaint(old, each)))
  const taints = [...add, ...kept.filter((old) => !add.some((each) => same(each, old)))]
  const isModified = add.length > 0 && remove.length > 0
  const operation = isModified
    ? 'modified'
    : add.length > 0
      ? add.some((each) => current.some((old) => same(old, each)))
        ? 'modified'
        : 'tainted'
      : 'untainted'
  const dryRun = dryRunOf(call)
  const object = { ...info.object, spec: { ...spec, taints } }
  if (dryRun === 'client') return { operation, object }
  const rest = await session.rest
  const body = { spec: { taints: taints.length === 0 ? null : taints } }
  const query = { fieldManager: flags.text('field-manager'), dryRun: dryRun === 'server' ? 'All' : undefined }
  return {
    operation,
    object: await rest.json<ApiObject>({
      method: 'PATCH',
      path: infoPath(info),
      contentType: 'application/strategic-merge-patch+json',
      query,
      body,
    }),
  }
}
