/** `kubectl wait`: until a condition holds, a field has a value, or an object is there or gone. */
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll } from '#cli/cli-error.ts'
import { printerFor } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { fetchInfo, type Info, infoText } from '#cli/resources/info.ts'
import { hasManifests, readManifestsStrictly } from '#cli/resources/read-manifests.ts'
import { selectFlags, selectResources } from '#cli/resources/select-resources.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import { resourcePath, resourceText } from '#cli/session/resource-types.ts'
import { JsonPathTemplate, relaxedPath, valueText } from '#cli/template/json-path-template.ts'
import { watchEvents } from './get-watch.ts'

type Goal = { is: 'delete' } | { is: 'create' } | { is: 'met'; holds(object: ApiObject): boolean }

const weekMs = 168 * 3_600_000

export async function wait(call: Call): Promise<void> {
  const { flags, host } = call
  const wanted = flags.list('for')
  if (wanted.length === 0) throw new CliError('unrecognized condition: []')
  const goals = wanted.map(goalOf)
  if (goals.length > 1 && goals.some(({ is }) => is !== 'met'))
    throw new CliError('only one of create or delete may be used with other conditions')
  const given = flags.durationMs('timeout')
  const limitMs = given < 0 ? weekMs : given
  const deadlineMs = host.clock.monotonic() + limitMs
  if (goals[0]?.is === 'delete') return waitDeleted(call, deadlineMs)
  const printer =
    (await printerFor(call)) ??
    ((object: ApiObject, info?: Info) => `${info === undefined ? object.metadata?.name : infoText(info)} condition met\n`)
  if (goals[0]?.is === 'create') await waitCreated(call, deadlineMs, limitMs)
  const { infos, errors } = await findInfos(call, waitSelect(call))
  if (infos.length === 0 && errors.length === 0) throw new CliError('no matching resources found')
  for (const info of infos) {
    for (const goal of goals) {
      if (goal.is !== 'met') continue
      try {
        info.object = await waitFor(call, info, goal.holds, deadlineMs)
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length === 0) host.write(flags.text('output') === '' ? `${infoText(info)} condition met\n` : printer(info.object))
  }
  throwAll(errors)
}

const waitSelect = (call: Call) => ({ ...selectFlags(call), typeAloneIsEnough: false })

export function goalOf(text: string): Goal {
  const lower = text.toLowerCase()
  if (lower === 'delete') return { is: 'delete' }
  if (lower === 'create') return { is: 'create' }
  if (lower.startsWith('condition=')) {
    const [name, value = 'true'] = splitAt(text.slice('condition='.length), '=')
    return { is: 'met', holds: conditionTest(name.toLowerCase(), value.toLowerCase()) }
  }
  if (lower.startsWith('jsonpath=')) return { is: 'met', holds: pathTest(text.slice('jsonpath='.length)) }
  throw new CliError(`unrecognized condition: ${JSON.stringify(text)}`)
}

function conditionTest(name: string, value: string): (object: ApiObject) => boolean {
  return (object) => {
    const status = object['status'] as
      | { conditions?: { type: string; status: string; observedGeneration?: number }[]; observedGeneration?: number }
      | undefined
    const condition = status?.conditions?.find(({ type }) => type.toLowerCase() === name)
    if (condition === undefined) return false
    const observed = condition.observedGeneration ?? status?.observedGeneration
    if (observed !== undefined && observed < (object.metadata?.generation ?? 0)) return false
    return condition.status.toLowerCase() === value
  }
}

function pathTest(text: string): (object: ApiObject) => boolean {
  const trimmed = text.replace(/^'(.*)'$/, '$1')
  const close = trimmed.lastIndexOf('}')
  const [path, value] =
    close >= 0
      ? [trimmed.slice(0, close + 1), trimmed.slice(close + 1)]
      : [splitAt(trimmed, '=')[0], trimmed.includes('=') ? `=${splitAt(trimmed, '=')[1]}` : '']
  if (value === '=')
    throw new CliError("jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3")
  const wanted = value === '' ? undefined : value.slice(1).replace(/^"(.*)"$/, '$1')
  const template = new JsonPathTemplate(relaxedPath(path))
  return (object) => {
    let values: unknown[]
    try {
      values = template.values(object).flat()
    } catch {
      return false
    }
    if (values.length === 0) return false
    if (wanted === undefined) return true
    if (values.length > 1) throw new CliError('given jsonpath expression matches more than one value')
    if (typeof values[0] === 'object' && values[0] !== null)
      throw new CliError('jsonpath leads to a nested object or list, only scalar values can be compared')
    return valueText(values[0]).toLowerCase() === wanted.toLowerCase()
  }
}

/** The object, when it is as wanted. */
export async function waitFor(call: Call, info: Info, holds: (object: ApiObject) => boolean, deadlineMs: number): Promise<ApiObject> {
  const { host, session } = call
  const timedOut = () => new CliError(`timed out waiting for the condition on ${resourceText(info.type)}/${info.name}`)
  const object = await fetchInfo(await session.rest, info)
  if (holds(object)) return object
  const leftMs = deadlineMs - host.clock.monotonic()
  if (leftMs <= 0) throw new CliError(`condition not met for ${resourceText(info.type)}/${info.name}`)
  const limit = new AbortController()
  using _timer = host.clock.after(leftMs, () => limit.abort())
  const signal = AbortSignal.any([limit.signal, host.interrupted])
  try {
    const target = { type: info.type, namespace: info.namespace, name: info.name, selector: '', fieldSelector: '' }
    for await (const event of watchEvents(call, target, { resourceVersion: object.metadata?.resourceVersion ?? '', signal })) {
      if (event.type === 'DELETED')
        throw new ApiError({
          kind: 'Status',
          reason: 'NotFound',
          message: `${resourceText(info.type)} "${info.name}" not found`,
        } as ConstructorParameters<typeof ApiError>[0])
      if (holds(event.object)) return event.object
    }
  } catch (error) {
    if (limit.signal.aborted) throw timedOut()
    throw error
  }
  throw timedOut()
}

async function waitCreated(call: Call, deadlineMs: number, limitMs: number): Promise<void> {
  if (limitMs <= 0) throw new CliError('--for=create requires a timeout value greater than 0')
  const { host } = call
  for (;;) {
    try {
      const { infos } = await findInfos(call, waitSelect(call))
      if (infos.length > 0) return
    } catch (error) {
      if (!(error instanceof ApiError && error.isNotFound)) throw error
    }
    if (host.clock.monotonic() >= deadlineMs) throw new CliError('timed out waiting for the condition')
    await host.clock.sleep(500, host.interrupted)
  }
}

async function waitDeleted(call: Call, deadlineMs: number): Promise<void> {
  const { host, flags } = call
  const infos = await deletionTargets(call)
  if (infos.length === 0 && (call.args.length < 2 || flags.isOn('all')) && !call.args.some((arg) => arg.includes('/')))
    throw new CliError('no matching resources found')
  const errors: unknown[] = []
  for (const info of infos) {
    try {
      await waitForDeletion(call, info, info.object.metadata?.uid ?? '', Math.max(0, deadlineMs - host.clock.monotonic()))
      if (flags.text('output') === '') host.write(`${infoText(info)} condition met\n`)
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}

/** What is gone already is as good as deleted. */
async function deletionTargets(call: Call): Promise<Info[]> {
  if (hasManifests(call) && call.args.length === 0) return readManifestsStrictly(call)
  const select = { args: call.args, ...selectFlags(call) }
  const selection = await selectResources(call, select)
  if (selection.by === 'lists') return (await findInfos(call, waitSelect(call))).infos
  const namespace = await call.session.namespace()
  const infos: Info[] = []
  for (const { type, name } of selection.items) {
    const info: Info = { type, name, namespace: type.isNamespaced ? namespace : '', object: {}, source: '' }
    try {
      info.object = await fetchInfo(await call.session.rest, info)
      infos.push(info)
    } catch (error) {
      if (!(error instanceof ApiError && error.isNotFound)) throw error
    }
  }
  return infos
}

/** Gone, or replaced by another of the same name. */
export async function waitForDeletion(call: Call, info: Info, uid: string, limitMs: number): Promise<void> {
  const { host, session } = call
  const rest = await session.rest
  const limit = new AbortController()
  using _timer = host.clock.after(limitMs, () => limit.abort())
  const timedOut = () => new CliError(`timed out waiting for the condition on ${info.type.plural}/${info.name}`)
  const list = await rest.json<ApiObject & { items?: ApiObject[] }>({
    path: resourcePath(info.type, info.namespace),
    query: { fieldSelector: `metadata.name=${info.name}` },
  })
  const [object] = list.items ?? []
  if (object === undefined || (uid !== '' && object.metadata?.uid !== uid)) return
  if (limitMs <= 0) throw timedOut()
  const own = object.metadata?.uid
  try {
    const target = { type: info.type, namespace: info.namespace, name: info.name, selector: '', fieldSelector: '' }
    for await (const event of watchEvents(call, target, {
      resourceVersion: list.metadata?.resourceVersion ?? '',
      signal: AbortSignal.any([limit.signal, host.interrupted]),
    })) {
      if (event.type === 'DELETED' || event.object.metadata?.uid !== own) return
    }
  } catch (error) {
    if (limit.signal.aborted) throw timedOut()
    throw error
  }
}
