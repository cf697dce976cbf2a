import type { Cost } from './attack-run.ts'

/**
 * Upstream answers 500 as well to an applied configuration whose list holds the same key twice, or lacks it, to a binding that does
 * not say where, and to a strategic patch of a list without the key that its entries are known by, or that orders a list where null is:
 * `expected a []interface {}, but received a %!s(<nil>)` is what kube-apiserver 1.36.4 says of the drivers of a CSINode that has none.
 * A resourceVersion that is no number, or that an object has before it is created, is a 500 from the store.
 * What is applied becomes an object of its type only when it is merged: a time or quantity that is none is a 500 as well.
 */
export function isExpectedFailure({ verb, status, text }: Pick<Cost, 'verb' | 'status' | 'text'>): boolean {
  if (status !== 500) return false
  if (/resourceVersion should not be set on objects to be created|strconv\.ParseUint: parsing/.test(text)) return true
  if (verb === 'create') return /target\.(name: Required|kind: Unsupported) value/.test(text)
  if (verb === 'strategic patch') return /does not contain declared merge key|expected a \[\]interface \{\}, but received a/.test(text)
  return (
    verb === 'apply' &&
    /failed to create typed (patch|live) object|failed to (convert|decode|merge)|parsing time|quantities must match|unable to parse/.test(
      text,
    )
  )
}
