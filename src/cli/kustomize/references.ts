/** Fields that speak of an object by a former name speak of it by its last one. */
import { CliError } from '#cli/cli-error.ts'
import { type FieldSpec, placesOf } from './field-spec.ts'
import {
  effectiveNamespace,
  type Gvk,
  type Identity,
  type Item,
  identityOf,
  identityText,
  isClusterWide,
  isSelectedBy,
  originalIdentity,
  sameNamespace,
} from './item.ts'
import type { NameReference } from './transformer-config.ts'

type Candidates = (name: string) => readonly Item[]

export function fixReferences(items: readonly Item[], references: readonly NameReference[]): void {
  const byFormerName = new Map<string, Item[]>()
  for (const item of items)
    for (const name of new Set(item.formerIdentities.map((identity) => identity.name)))
      byFormerName.set(name, [...(byFormerName.get(name) ?? []), item])
  if (byFormerName.size === 0) return
  for (const referrer of items) {
    const own = identityOf(referrer)
    const candidates: Candidates = (name) => (byFormerName.get(name) ?? []).filter((item) => mayBeNamedBy(referrer, own, item))
    for (const { fieldSpecs, ...target } of references)
      for (const spec of fieldSpecs) if (isSelectedBy(originalIdentity(referrer), spec)) fixField(referrer, spec, target, candidates)
  }
}

function fixField(referrer: Item, spec: FieldSpec, target: Gvk, candidates: Candidates): void {
  const chosen = (name: string, among: readonly Item[], isWhole: boolean) =>
    chooseReferral(referrer, spec, target, { name, among, isWhole })
  for (const { holder, key } of placesOf(referrer.object, { ...spec, group: '', version: '', kind: '' })) {
    const value = holder[key]
    if (typeof value === 'string') holder[key] = chosen(value, candidates(value), false)?.object.metadata?.name ?? value
    else if (Array.isArray(value))
      holder[key] = value.map((each) =>
        typeof each === 'string' ? (chosen(each, candidates(each), false)?.object.metadata?.name ?? each) : each,
      )
    for (const map of Array.isArray(value) ? value : [value]) if (typeof map === 'object' && map !== null) fixMap(map, spec)
  }

  function fixMap(map: { name?: string; namespace?: string }, { path }: FieldSpec): void {
    const { name, namespace } = map
    if (name === undefined)
      throw new CliError(
        `updating name reference in '${path}' field of '${identityText(identityOf(referrer))}': considering field '${path}' of object ${identityText(identityOf(referrer))}: path config error; no 'name' field in node`,
      )
    const all = candidates(name)
    const original = all.filter((item) => (originalIdentity(item).namespace || 'default') === namespace)
    const current = all.filter((item) => (identityOf(item).namespace || 'default') === namespace)
    const referral = chosen(name, namespace === undefined ? all : original.length > 0 ? original : current, true)
    if (referral === undefined) return
    map.name = referral.object.metadata?.name ?? name
    if (referral.object.metadata?.namespace) map.namespace = referral.object.metadata.namespace
  }
}

/** Things of other namespaces cannot be meant, but for accounts, which bindings name with their namespace. */
function mayBeNamedBy(referrer: Item, own: Identity, item: Item): boolean {
  if (isClusterWide(own)) return true
  const identity = identityOf(item)
  if (isClusterWide(identity) || sameNamespace(identity, own)) return true
  if (identity.kind !== 'ServiceAccount' || own.kind !== 'RoleBinding') return false
  const namespaces = ((referrer.object['subjects'] ?? []) as { kind?: string; namespace?: string }[])
    .filter(({ kind, namespace }) => kind === 'ServiceAccount' && namespace !== undefined)
    .map(({ namespace }) => namespace)
  return namespaces.includes(effectiveNamespace(identity)) || namespaces.includes(originalIdentity(item).namespace)
}

function chooseReferral(
  referrer: Item,
  { path }: FieldSpec,
  target: Gvk,
  { name, among, isWhole }: { name: string; among: readonly Item[]; isWhole: boolean },
): Item | undefined {
  const role = path.endsWith('roleRef/name') ? (referrer.object['roleRef'] as { apiGroup?: string; kind?: string } | undefined) : undefined
  const formerly = (item: Item, test: (identity: Identity) => boolean) => item.formerIdentities.some(test)
  let found = among.filter(
    (item) =>
      formerly(item, (identity) => identity.name === name) &&
      formerly(item, (identity) => isSelectedBy(identity, target)) &&
      (role?.apiGroup === undefined ||
        role.kind === undefined ||
        formerly(item, (identity) => identity.group === role.apiGroup && identity.kind === role.kind)),
  )
  if (found.length <= 1) return found[0]
  found = found.filter((item) => sameAffixes(item, referrer, true))
  if (found.length > 1) found = found.filter((item) => sameAffixes(item, referrer, false))
  const names = new Set(found.map(({ object }) => `${object.metadata?.name}${isWhole ? `/${object.metadata?.namespace ?? ''}` : ''}`))
  if (names.size <= 1) return found[0]
  throw new CliError(`found multiple possible referrals: ${found.map((item) => identityText(identityOf(item))).join(', ')}`)
}

function sameAffixes(one: Item, other: Item, allowsNone: boolean): boolean {
  const same = (left: readonly string[], right: readonly string[]) =>
    (allowsNone && (left.length === 0 || right.length === 0)) || sameEnding(left, right)
  return same(one.prefixes, other.prefixes) && same(one.suffixes, other.suffixes)
}

/** The shorter one is how the longer one ends. */
function sameEnding(one: readonly string[], other: readonly string[]): boolean {
  const [shorter, longer] = one.length <= other.length ? [one, other] : [other, one]
  if (shorter.length === 0) return longer.length === 0
  return shorter.every((each, index) => each === longer[longer.length - shorter.length + index])
}
