/** Patches: strategic merge for kinds that are known, plain merge for others, and lists of operations. */
import { resolve } from 'node:path'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import { applyPatch } from '#api/meta/patch/apply-patch.ts'
import { parseLabelSelector } from '#api/meta/selector.ts'
import { findSchema, schemaNameOf } from '#api/schema/schema.ts'
import type { ApiObject } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import type { Host } from '#cli/host.ts'
import { groupAndVersion } from '#cli/session/resource-types.ts'
import type { Kustomization, PatchEntry, Target } from './kustomization.ts'
import type { Item } from './references.ts'

export async function patched(host: Host, directory: string, kustomization: Kustomization, items: readonly Item[]): Promise<Item[]> {
  const { patches = [], patchesStrategicMerge = [], patchesJson6902 = [] } = kustomization
  let result = [...items]
  const merges: PatchEntry[] = patchesStrategicMerge.map((text) => (/\n|^\s*[{]/.test(text) ? { patch: text } : { path: text }))
  for (const entry of [...merges, ...patches, ...patchesJson6902]) {
    const text = entry.patch ?? (await host.files.readText(resolve(directory, entry.path ?? '')))
    for (const { value } of readYamlValues(text)) result = applied(result, value, entry)
  }
  return result
}

function applied(items: readonly Item[], patch: unknown, { target, options }: PatchEntry): Item[] {
  const isOperations = Array.isArray(patch)
  if (isOperations && target === undefined) throw new CliError('must specify a target for JSON patch')
  const chosen =
    target === undefined ? items.filter((item) => isNamedBy(item, patch as ApiObject)) : items.filter((item) => matches(item, target))
  if (chosen.length === 0 && target === undefined) {
    const { apiVersion = '', kind, metadata } = patch as ApiObject
    throw new CliError(
      `no resource matches strategic merge patch "${kind}.${apiVersion.split('/').toReversed().join('.')}/${metadata?.name}.${metadata?.namespace ?? '[noNs]'}": no matches for Id ${kind}.${apiVersion.split('/').toReversed().join('.')}/${metadata?.name}.${metadata?.namespace ?? '[noNs]'}; failed to find unique target for patch ${kind}.${apiVersion.split('/').toReversed().join('.')}/${metadata?.name}.${metadata?.namespace ?? '[noNs]'}`,
    )
  }
  return items.flatMap((item) => {
    if (!chosen.includes(item)) return [item]
    const object = isOperations ? (applyPatch('json', item.object, patch) as ApiObject) : merged(item.object, patch as ApiObject)
    if (object === undefined) return []
    if (!options?.allowNameChange && item.object.metadata?.name !== undefined && object.metadata !== undefined)
      object.metadata.name = item.object.metadata.name
    if (!options?.allowKindChange && item.object.kind !== undefined) object.kind = item.object.kind
    return [{ ...item, object, formerNames: [...item.formerNames, object.metadata?.name ?? ''] }]
  })
}

function merged(object: ApiObject, patch: ApiObject): ApiObject | undefined {
  if ((patch as { $patch?: string }).$patch === 'delete') return undefined
  const [group, version] = groupAndVersion(object.apiVersion ?? '')
  const name = schemaNameOf({ group, version, kind: object.kind ?? '' })
  const schema = name === undefined ? undefined : findSchema(name)
  // Which object is meant says nothing about how it should be.
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = patch
  const { name: _name, namespace: _namespace, ...metadata } = rest.metadata ?? {}
  const body = { ...rest, ...(Object.keys(metadata).length > 0 ? { metadata } : {}) }
  if (Object.keys(metadata).length === 0) delete (body as { metadata?: unknown }).metadata
  return (schema === undefined ? applyPatch('merge', object, body) : applyPatch('strategic', object, body, schema)) as ApiObject
}

function isNamedBy({ object, formerNames }: Item, patch: ApiObject): boolean {
  const namespace = patch.metadata?.namespace
  return (
    object.kind === patch.kind &&
    object.apiVersion === patch.apiVersion &&
    formerNames.includes(patch.metadata?.name ?? '') &&
    (namespace === undefined || namespace === (object.metadata?.namespace ?? 'default'))
  )
}

/** Names are regular expressions. */
export function matches(
  { object, formerNames }: Item,
  { group, version, kind, name, namespace, labelSelector, annotationSelector }: Target,
): boolean {
  const [ownGroup, ownVersion] = groupAndVersion(object.apiVersion ?? '')
  const fits = (pattern: string | undefined, values: readonly string[]) =>
    pattern === undefined || pattern === '' || values.some((value) => new RegExp(`^(?:${pattern})$`).test(value))
  return (
    fits(group, [ownGroup]) &&
    fits(version, [ownVersion]) &&
    fits(kind, [object.kind ?? '']) &&
    fits(name, [...formerNames, object.metadata?.name ?? '']) &&
    fits(namespace, [object.metadata?.namespace ?? '']) &&
    (!labelSelector || parseLabelSelector(labelSelector).matches(object.metadata?.labels ?? {})) &&
    (!annotationSelector || parseLabelSelector(annotationSelector).matches(object.metadata?.annotations ?? {}))
  )
}
