/** The live objects, or those of manifests, that a command line names. */
import type { ApiList, ApiObject, Call } from '#cli/call.ts'
import { ApiError, throwAll } from '#cli/cli-error.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'
import { fetchInfo, type Info } from './info.ts'
import { hasManifests, readManifests } from './read-manifests.ts'
import { type SelectOptions, selectFlags, selectResources } from './select-resources.ts'
import { selectorTest } from './selector-test.ts'

export type FindOptions = Partial<SelectOptions> & {
  /** Objects of manifests are fetched as well. */
  latest?: boolean
}

/** `errors` are refusals besides what was found: to be thrown when that has been dealt with. */
export type Found = { infos: Info[]; errors: unknown[] }

const defaultChunk = 500

/** Throws where nothing was found and something failed. */
export async function findInfos(call: Call, options: FindOptions = {}): Promise<Found> {
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const isFromFiles = hasManifests(call) && (options.args ?? call.args).length === 0
  const infos = await (isFromFiles ? fromManifests(call, options, onError) : fromArguments(call, options, onError))
  if (infos.length === 0) throwAll(errors)
  return { infos, errors }
}

async function fromManifests(
  call: Call,
  { latest = true, selector = selectFlags(call).selector ?? '' }: FindOptions,
  onError: (error: unknown) => void,
): Promise<Info[]> {
  const infos: Info[] = []
  const isWanted = selectorTest(selector)
  for (const read of await readManifests(call)) {
    if ('error' in read) {
      onError(read.error)
      continue
    }
    try {
      if (latest) read.info.object = await fetchInfo(await call.session.rest, read.info)
      if (isWanted(read.info.object)) infos.push(read.info)
    } catch (error) {
      onError(error)
    }
  }
  return infos
}

async function fromArguments(call: Call, options: FindOptions, onError: (error: unknown) => void): Promise<Info[]> {
  const select = { args: call.args, ...selectFlags(call), ...options }
  const selection = await selectResources(call, select)
  const namespace = select.allNamespaces ? '' : await call.session.namespace()
  const rest = await call.session.rest
  const infos: Info[] = []
  if (selection.by === 'names') {
    for (const { type, name } of selection.items) {
      const info: Info = { type, namespace: type.isNamespaced ? namespace : '', name, object: {}, source: '' }
      try {
        info.object = await fetchInfo(rest, info)
        infos.push(info)
      } catch (error) {
        onError(error)
      }
    }
    return infos
  }
  for (const type of selection.types) {
    try {
      const list = await listAll(call, type, {
        namespace: type.isNamespaced ? namespace : '',
        selector: select.selector ?? '',
        fieldSelector: select.fieldSelector ?? '',
      })
      infos.push(...list.items.map((object) => infoOfObject(type, object)))
    } catch (error) {
      onError(error)
    }
  }
  return infos
}

export function infoOfObject(type: ResourceType, object: ApiObject): Info {
  return { type, namespace: object.metadata?.namespace ?? '', name: object.metadata?.name ?? '', object, source: '' }
}

/** Says which list was refused. */
export function listError(
  error: unknown,
  type: Pick<ResourceType, 'group' | 'version' | 'plural'>,
  selector: string,
  fieldSelector: string,
): unknown {
  if (!(error instanceof ApiError) || (error.status.reason !== 'BadRequest' && !error.isNotFound)) return error
  const resource = `${type.group}/${type.version}, Resource=${type.plural}`
  const what =
    selector === '' && fieldSelector === ''
      ? `Unable to list "${resource}"`
      : `Unable to find "${resource}" that match label selector ${JSON.stringify(selector)}, field selector ${JSON.stringify(fieldSelector)}`
  const message = `${what}: ${error.message}`
  return new ApiError({ ...error.status, message }, message)
}

export type ListOptions = { namespace: string; selector?: string; fieldSelector?: string; chunkSize?: number; accept?: string }

/** In chunks, gathered to one list; items get their kind where the server leaves it out. */
export async function listAll(
  { session }: Call,
  type: ResourceType,
  { namespace, selector = '', fieldSelector = '', chunkSize = defaultChunk, accept = 'application/json' }: ListOptions,
): Promise<ApiList> {
  const rest = await session.rest
  const path = resourcePath(type, namespace)
  let whole: ApiList | undefined
  for (let token = ''; ; ) {
    const list = await rest
      .json<ApiList>({
        path,
        accept,
        query: { labelSelector: selector, fieldSelector, limit: chunkSize > 0 ? chunkSize : undefined, continue: token },
      })
      .catch((error: unknown) => Promise.reject(listError(error, type, selector, fieldSelector)))
    if (whole === undefined) whole = list
    else for (const item of list.items) whole.items.push(item)
    token = list.metadata?.continue ?? ''
    if (token === '') break
  }
  whole.items ??= []
  for (const [index, item] of whole.items.entries()) {
    if (item.kind === undefined) whole.items[index] = { kind: type.kind, apiVersion: whole.apiVersion ?? '', ...item }
  }
  return whole
}
