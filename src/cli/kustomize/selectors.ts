/** Which objects a patch or a replacement speaks of. */
import { parseLabelSelector } from '#api/meta/selector.ts'
import { effectiveNamespace, everyIdentity, type Identity, type Item, identityOf, isSelectedBy, originalIdentity } from './item.ts'
import type { Target } from './kustomization.ts'

/** Names are regular expressions; the first and the last name of an object count. */
export function isPatchTarget(item: Item, target: Target): boolean {
  const [first, last] = [originalIdentity(item), identityOf(item)]
  return (
    fits(target.namespace, effectiveNamespace(first), effectiveNamespace(last)) &&
    fits(target.name, first.name, last.name) &&
    fits(target.group, last.group) &&
    fits(target.version, last.version) &&
    fits(target.kind, last.kind) &&
    matchesLabels(item, target)
  )
}

/** As targets of replacements are: any name that the object has had. */
export function isReplacementTarget(item: Item, target: Target): boolean {
  return everyIdentity(item).some((identity) => fitsIdentity(identity, target)) && matchesLabels(item, target)
}

export function isRejected(item: Item, target: Target): boolean {
  const { labelSelector, annotationSelector, ...plain } = target
  if (labelSelector || annotationSelector)
    return matchesLabels(item, target) && everyIdentity(item).some((each) => fitsIdentity(each, plain))
  return everyIdentity(item).some((identity) => fitsIdentity(identity, target))
}

function fitsIdentity(identity: Identity, { group, version, kind, name, namespace }: Target): boolean {
  return (
    fits(group, identity.group) &&
    fits(version, identity.version) &&
    fits(kind, identity.kind) &&
    fits(name, identity.name) &&
    fits(namespace, effectiveNamespace(identity))
  )
}

/** A source is named, not described. */
export function isSource(item: Item, { name = '', namespace = '', ...gvk }: Target): boolean {
  return everyIdentity(item).some(
    (identity) =>
      (name === '' || identity.name === name) &&
      (namespace === '' || effectiveNamespace({ ...identity, namespace }) === effectiveNamespace(identity)) &&
      isSelectedBy(identity, gvk),
  )
}

const fits = (pattern: string | undefined, ...values: readonly string[]): boolean =>
  pattern === undefined || pattern === '' || values.some((value) => new RegExp(`^(?:${pattern})$`).test(value))

const matchesLabels = ({ object }: Item, { labelSelector, annotationSelector }: Target): boolean =>
  (!labelSelector || parseLabelSelector(labelSelector).matches(object.metadata?.labels ?? {})) &&
  (!annotationSelector || parseLabelSelector(annotationSelector).matches(object.metadata?.annotations ?? {}))
