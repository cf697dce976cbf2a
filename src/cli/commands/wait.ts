/** `kubectl wait`: until a condition holds, a field has a value, or an object is there or gone. */

import { trimEndOf } from '#base/trim-end.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, ManyErrors, throwAll } from '#cli/cli-error.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { fetchInfo, type Info } from '#cli/resources/info.ts'
import { hasManifests } from '#cli/resources/read-manifests.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import { resourcePath, resourceText } from '#cli/session/resource-types.ts'
import { JsonPathTemplate, relaxedPath, valueText } from '#cli/template/json-path-template.ts'
import { watchEvents } from './get-watch.ts'

type Goal = { is: 'delete' } | { is: 'create' } | { is: 'met'; holds(object: ApiObject): boolean }

const weekMs = 168 * 3_600_000

export async function wait(call: Call): Promise<void> {
  const { flags, host } = call
  const printer = await resultPrinter(call, 'condition met')
  const wanted = flags.list('for')
  const goals = wanted.map(goalOf)
  if (goals.length === 0) throw new CliError('unrecognized condition: []')
  if (flags.isOn('local')) refuseLocal(call)
  const given = flags.durationMs('timeout')
  // Without any time to wait there is one look at each.
  const deadlineMs = given === 0 ? undefined : host.clock.monotonic() + (given < 0 ? weekMs : given)
  // Whatever else is waited for, and wherever it was said: first the object must be there.
  if (goals.some(({ is }) => is === 'create')) await waitCreated(call, host.clock.monotonic() + Math.max(0, given))
  const isForDelete = goals.some(({ is }) => is === 'delete')
  const { infos, errors } = await findInfos(call).catch((error: unknown) => ({ infos: [], errors: flattened(error) }))
  const told = isForDelete ? errors.filter((error) => !isNotFound(error)) : errors
  if (infos.length === 0 && told.length === 0 && !isForDelete) throw new CliError('no matching resources found')
  for (const info of infos) {
    try {
      for (const goal of goals) {
        if (goal.is === 'delete') await waitGone(call, info, deadlineMs)
        if (goal.is === 'met') info.object = await waitFor(call, info, goal.holds, deadlineMs)
        host.write(printer(info.object))
      }
    } catch (error) {
      told.push(error)
    }
  }
  throwAll(told)
}

const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.isNotFound
const flattened = (error: unknown): unknown[] => (error instanceof ManyErrors ? [...error.errors] : [error])

/** Nothing changes in a file: kubectl ends with a panic here. */
function refuseLocal(call: Call): void {
  if (call.args.length > 0 || !hasManifests(call))
    throw new CliError(
      [
        'you must specify resources by --filename when --local is set.',
        'Example resource specifications include:',
        "   '-f rsrc.yaml'",
        "   '--filename=rsrc.json'",
      ].join('\n'),
    )
}

export function goalOf(text: string): Goal {
  const lower = text.toLowerCase()
  if (lower === 'delete') return { is: 'delete' }
  if (lower === 'create') return { is: 'create' }
  if (text.startsWith('condition=')) {
    const [name, value = 'true'] = splitAt(text.slice('condition='.length), '=')
    return { is: 'met', holds: conditionTest(name.toLowerCase(), value.toLowerCase()) }
  }
  if (text.startsWith('jsonpath=')) return { is: 'met', holds: pathTest(text.slice('jsonpath='.length)) }
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
  const [path = '', value, ...more] = partsOf(text)
  if (more.length > 0)
    throw new CliError(
      "jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3 or --for=jsonpath='{.status.readyReplicas}'",
    )
  const relaxed = relaxedPath(path)
  const wanted = value === undefined ? undefined : trimEndOf(value.replace(/^['"]+/, ''), `'"`)
  if (wanted === '')
    throw new CliError("jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3")
  if (relaxed === '') throw new CliError('jsonpath expression cannot be empty')
  const template = new JsonPathTemplate(relaxed)
  return (object) => {
    const [values = [], ...others] = template.values(object)
    if (values.length === 0) return false
    if (others.length > 0) throw new CliError('given jsonpath expression matches more than one list')
    if (values.length > 1) throw new CliError('given jsonpath expression matches more than one value')
    if (wanted === undefined) return true
    if (typeof values[0] === 'object' && values[0] !== null)
      throw new CliError('jsonpath leads to a nested object or list which is not supported')
    return (values[0] === null ? '<nil>' : valueText(values[0]).trim()) === wanted.trim()
  }
}

/** Split at single equal signs: two of them compare, inside of the path. */
function partsOf(text: string): string[] {
  const parts = ['']
  for (const [piece] of text.matchAll(/==|=|[^=]+/g)) {
    if (piece === '=') parts.push('')
    else parts.push(`${parts.pop()}${piece}`)
  }
  return parts
}

/** The object, when it is as wanted. Without a deadline there is one look. */
async function waitFor(call: Call, info: Info, holds: (object: ApiObject) => boolean, deadlineMs: number | undefined): Promise<ApiObject> {
  const { host, session } = call
  const timedOut = () => new CliError(`timed out waiting for the condition on ${info.type.plural}/${info.name}`)
  const leftMs = deadlineMs === undefined ? 0 : deadlineMs - host.clock.monotonic()
  if (deadlineMs !== undefined && leftMs <= 0) throw timedOut()
  const object = await fetchInfo(await session.rest, info)
  if (holds(object)) return object
  if (deadlineMs === undefined) throw new CliError(`condition not met for ${info.type.plural}/${info.name}`)
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

async function waitCreated(call: Call, deadlineMs: number): Promise<void> {
  const { host } = call
  for (;;) {
    try {
      const { infos } = await findInfos(call)
      if (infos.length > 0) return
    } catch (error) {
      // What a manifest says must be there already.
      if (!(error instanceof ApiError && error.isNotFound) || hasManifests(call)) throw error
    }
    if (host.clock.monotonic() >= deadlineMs) throw new CliError('timed out waiting for the condition')
    await host.clock.sleep(500, host.interrupted)
  }
}

async function waitGone(call: Call, info: Info, deadlineMs: number | undefined): Promise<void> {
  if (deadlineMs !== undefined) return waitForDeletion(call, info, info.object.metadata?.uid ?? '', deadlineMs)
  if (await isThere(call, info)) throw new CliError(`condition not met for ${info.type.plural}/${info.name}`)
}

async function isThere(call: Call, info: Info): Promise<boolean> {
  try {
    await fetchInfo(await call.session.rest, info)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

/** Gone, or replaced by another of the same name. */
export async function waitForDeletion(call: Call, info: Info, uid: string, deadlineMs: number): Promise<void> {
  const { host, session } = call
  const limitMs = deadlineMs - host.clock.monotonic()
  if (limitMs <= 0) throw new CliError('client rate limiter Wait returned an error: context deadline exceeded')
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
