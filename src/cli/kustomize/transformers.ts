/** Namespace, prefix, suffix, labels, annotations, replicas, images: each at the places that the configuration names. */
import { yamlText } from '#api/codec/yaml.ts'
import { CliError } from '#cli/cli-error.ts'
import { type FieldSpec, placesOf } from './field-spec.ts'
import {
  everyIdentity,
  gvkText,
  type Item,
  identityOf,
  identityText,
  isClusterWide,
  isSelectedBy,
  originalIdentity,
  rememberIdentity,
  sameIdentity,
} from './item.ts'
import type { ImageEntry } from './kustomization.ts'

export type SubjectMode = 'defaultOnly' | 'allServiceAccounts' | 'none'

export type NamespaceOptions = {
  namespace: string
  specs: readonly FieldSpec[]
  unsetOnly?: boolean
  setRoleBindingSubjects?: SubjectMode
}

export function setNamespace(items: readonly Item[], options: NamespaceOptions): void {
  for (const item of items) {
    if (item.isFromChart) continue
    rememberIdentity(item)
    setNamespaceOf(item, options)
  }
  const seen = new Set<string>()
  for (const item of items) {
    const text = identityText(identityOf(item))
    if (seen.has(text)) throw new CliError(`namespace transformation produces ID conflict: ${text}`)
    seen.add(text)
  }
}

function setNamespaceOf(
  item: Item,
  { namespace, specs, unsetOnly = false, setRoleBindingSubjects = 'defaultOnly' }: NamespaceOptions,
): void {
  const { object } = item
  const set = (holder: Record<string | number, unknown>, key: string | number) => {
    if (!unsetOnly || !holder[key]) holder[key] = namespace
  }
  if (!isClusterWide(identityOf(item))) {
    object.metadata ??= {}
    set(object.metadata as Record<string, unknown>, 'namespace')
  }
  const isBinding = object.kind === 'RoleBinding' || object.kind === 'ClusterRoleBinding'
  if (isBinding && setRoleBindingSubjects !== 'none')
    for (const subject of (object['subjects'] as Record<string, unknown>[] | undefined) ?? [])
      if (setRoleBindingSubjects === 'defaultOnly' ? subject['name'] === 'default' : subject['kind'] === 'ServiceAccount')
        set(subject, 'namespace')
  for (const spec of specs) {
    if (spec.path === 'metadata/namespace' || (spec.path === 'metadata/name' && object.apiVersion !== 'v1')) continue
    if (isBinding && spec.path === 'subjects/namespace') continue
    for (const { holder, key } of placesOf(object, spec, 'text')) set(holder, key)
  }
}

const unnamed = [{ kind: 'CustomResourceDefinition' }, { group: 'apiregistration.k8s.io', kind: 'APIService' }, { kind: 'Namespace' }]

export function addAffix(items: readonly Item[], where: 'prefix' | 'suffix', affix: string, specs: readonly FieldSpec[]): void {
  for (const item of items) {
    const original = originalIdentity(item)
    if (unnamed.some((kind) => isSelectedBy(original, kind))) continue
    for (const spec of specs) {
      if (!isSelectedBy(original, spec)) continue
      if (spec.path === 'metadata/name' && affix !== '') {
        item[where === 'prefix' ? 'prefixes' : 'suffixes'].push(affix)
        rememberIdentity(item)
      }
      for (const { holder, key } of placesOf(item.object, spec, 'text'))
        holder[key] = where === 'prefix' ? `${affix}${String(holder[key])}` : `${String(holder[key])}${affix}`
    }
  }
}

export function addEntries(items: readonly Item[], entries: Readonly<Record<string, string>>, specs: readonly FieldSpec[]): void {
  if (Object.keys(entries).length === 0) return
  for (const item of items)
    for (const spec of specs)
      for (const { holder, key } of placesOf(item.object, spec, 'map')) {
        if (Array.isArray(holder[key])) throw wrongKind(item, spec, holder[key])
        holder[key] = { ...(holder[key] as object), ...entries }
      }
}

const wrongKind = (item: Item, { path }: FieldSpec, value: unknown): CliError =>
  new CliError(
    `considering field '${path}' of object ${identityText(identityOf(item))}: wrong node kind: expected MappingNode but got SequenceNode: node contents:\n${yamlText(value)}`,
  )

export function setReplicas(items: readonly Item[], { name, count }: { name: string; count: number }, specs: readonly FieldSpec[]): void {
  let isFound = false
  for (const spec of specs) {
    for (const item of items) {
      if (!everyIdentity(item).some((identity) => identity.name === name && isSelectedBy(identity, spec))) continue
      isFound = true
      for (const { holder, key } of placesOf(item.object, spec, 'text')) holder[key] = count
    }
  }
  if (!isFound)
    throw new CliError(
      `resource with name ${name} does not match a config with the following GVK [${specs.map((spec) => gvkText(spec)).join(' ')}]`,
    )
}

export function setImages(items: readonly Item[], image: ImageEntry, specs: readonly FieldSpec[]): void {
  for (const { object } of items) {
    if (object.kind !== 'CustomResourceDefinition') setContainerImages(object, image)
    for (const spec of specs)
      for (const { holder, key } of placesOf(object, spec))
        if (typeof holder[key] === 'string') holder[key] = changedImage(holder[key], image)
  }
}

/** Wherever something has containers: kinds of others, too. */
function setContainerImages(value: unknown, image: ImageEntry): void {
  if (Array.isArray(value)) for (const item of value) setContainerImages(item, image)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return
  for (const [key, inside] of Object.entries(value)) {
    setContainerImages(inside, image)
    if ((key !== 'containers' && key !== 'initContainers') || !Array.isArray(inside)) continue
    for (const container of inside as ({ image?: unknown } | null)[])
      if (typeof container?.image === 'string') container.image = changedImage(container.image, image)
  }
}

function changedImage(text: string, { name, newName, newTag, digest, tagSuffix }: ImageEntry): string {
  const at = text.indexOf('@')
  const bare = at < 0 ? text : text.slice(0, at)
  const colon = bare.lastIndexOf(':')
  const hasTag = colon > bare.lastIndexOf('/')
  const base = hasTag ? bare.slice(0, colon) : bare
  if (!new RegExp(`^${name}(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$`).test(text)) return text
  const [ownTag, ownDigest] = [hasTag ? bare.slice(colon + 1) : '', at < 0 ? '' : text.slice(at + 1)]
  const [tag, hash] =
    newTag && digest
      ? [newTag, digest]
      : newTag
        ? [newTag, '']
        : digest
          ? ['', digest]
          : tagSuffix
            ? [`${ownTag}${tagSuffix}`, '']
            : [ownTag, ownDigest]
  return `${newName || base}${tag === '' ? '' : `:${tag}`}${hash === '' ? '' : `@${hash}`}`
}

/** Two objects of one name are a mistake. */
export function checkUnique(items: readonly Item[], way = ''): void {
  const seen = new Map<string, Item>()
  for (const item of items) {
    const identity = identityOf(item)
    const key = `${identity.kind}|${identity.name}|${identity.group}|${identity.version}`
    const other = seen.get(`${key}|${identity.namespace || 'default'}`)
    if (other !== undefined && sameIdentity(identityOf(other), identity))
      throw new CliError(`${way}may not add resource with an already registered id: ${identityText(identity)}`)
    seen.set(`${key}|${identity.namespace || 'default'}`, item)
  }
}
