/** `kubectl taint` */

import { labelValue, qualifiedName } from '#api/meta/names.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, PlainError, throwAll, usageError } from '#cli/cli-error.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { type Info, infoPath } from '#cli/resources/info.ts'
import { dryRunOf, writeQuery } from '#cli/write-options.ts'

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
  await checkIsNode(call, resources[0] ?? '')
  const both = add.flatMap((each) => remove.filter((other) => sameTaint(each, other)).map(({ key, effect = '' }) => `${key}=${effect}`))
  if (both.length > 0) throw new CliError(`can not both modify and remove the following taint(s) in the same command: ${both.join(', ')}`)
  const isMany = flags.isOn('all') || flags.text('selector') !== ''
  if (flags.isOn('all') && flags.text('selector') !== '')
    throw new CliError("setting 'all' parameter with a non empty selector is prohibited")
  if (!isMany && resources.length < 2) throw new CliError("at least one resource name must be specified since 'all' parameter is not set")
  // Beside a selector names have no effect.
  const { infos, errors } = await findInfos(call, { args: ['nodes', ...(isMany ? [] : resources.slice(1))] })
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

/** The word may lead on to a field, as for `explain`. */
async function checkIsNode({ session }: Call, word: string): Promise<void> {
  const lower = word.toLowerCase()
  const strange = /[^\w./-]/.exec(lower)
  if (strange !== null)
    throw new CliError(
      `unrecognized character in action: U+${lower.charCodeAt(strange.index).toString(16).toUpperCase().padStart(4, '0')} '${strange[0]}'`,
    )
  const [resource = ''] = lower.split('.')
  if (resource === '') throw new CliError('a resource must be present, got: /, Resource=')
  const { kind } = await (await session.types).named(resource).catch((error: Error) => {
    throw new PlainError(error.message)
  })
  if (kind !== 'Node') throw new CliError(`invalid resource type ${lower}, only node types are supported`)
}

const sameTaint = (one: Taint, other: Taint): boolean =>
  one.key === other.key && (other.effect === undefined || other.effect === '' || one.effect === other.effect)
const taintText = ({ key, value, effect }: Taint): string => `${key}${value ? `=${value}` : ''}${effect ? `:${effect}` : ''}`

function parsedTaints(specs: readonly string[]): { add: Taint[]; remove: Taint[] } {
  const add: Taint[] = []
  const remove: Taint[] = []
  for (const spec of specs) {
    const isRemoval = spec.endsWith('-')
    const { key, value, effect } = parsedTaint(isRemoval ? spec.slice(0, -1) : spec)
    if (isRemoval) {
      remove.push({ key, ...omitEmpty({ effect }) })
      continue
    }
    if (effect === '') throw invalid(spec)
    if (add.some((each) => each.key === key && each.effect === effect))
      throw usageError('taint', `duplicated taints with the same key and effect: {${key} ${value} ${effect} <nil>}`)
    add.push({ key, ...omitEmpty({ value }), effect })
  }
  return { add, remove }
}

const invalid = (spec: string, problems: readonly string[] = []): CliError =>
  usageError('taint', `invalid taint spec: ${[spec, ...(problems.length > 0 ? [problems.join('; ')] : [])].join(', ')}`)

/** `key=value:effect`, `key:effect` or `key`. */
function parsedTaint(text: string): { key: string; value: string; effect: string } {
  const [place = '', effect, ...more] = text.split(':')
  if (more.length > 0) throw invalid(text)
  if (effect !== undefined && !['NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect))
    throw usageError('taint', `invalid taint effect: ${effect}, unsupported taint effect`)
  const [key = '', value = '', ...others] = effect === undefined ? [place] : place.split('=')
  if (others.length > 0) throw invalid(text)
  for (const problems of [labelValue(value), qualifiedName(key)]) if (problems.length > 0) throw invalid(text, problems)
  return { key, value, effect: effect ?? '' }
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
    const exists = add.filter((each) => current.some((old) => same(old, each))).map(({ key }) => key)
    if (exists.length > 0)
      throw new CliError(`node ${info.name} already has ${exists.join(',')} taint(s) with same effect(s) and --overwrite is false`)
  }
  const withAdded = [...add, ...current.filter((old) => !add.some((each) => same(each, old)))]
  const missing = remove.filter((each) => !withAdded.some((old) => sameTaint(old, each)))
  throwAll(missing.map((each) => new CliError(`taint ${JSON.stringify(taintText(each))} not found`)))
  const taints = withAdded.filter((old) => !remove.some((each) => sameTaint(old, each)))
  const isAdded = withAdded.length !== current.length
  const operation = flags.isOn('overwrite') || (isAdded && remove.length > 0) ? 'modified' : isAdded ? 'tainted' : 'untainted'
  const dryRun = dryRunOf(call)
  const object = { ...info.object, spec: { ...spec, taints } }
  if (dryRun === 'client') return { operation, object }
  const rest = await session.rest
  const body = { spec: { taints: taints.length === 0 ? null : taints } }
  const query = writeQuery(call, dryRun)
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
