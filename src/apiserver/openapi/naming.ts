/** How paths, operation ids and tags are made of groups, versions and kinds. */

/** `rbac.authorization.k8s.io` is `rbac` and `authorization`. */
function groupWords(group: string): string[] {
  return group === '' ? ['core'] : group.replace(/\.k8s\.io$/, '').split('.')
}

export const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

/** `AppsV1`, the part of operation ids that tells group and version. */
export function idPrefix(group: string, version = ''): string {
  return groupWords(group).map(capitalized).join('') + capitalized(version)
}

/** `apps_v1` */
export function tagOf(group: string, version = ''): string {
  const [first = '', ...others] = groupWords(group)
  return first + others.map(capitalized).join('') + (version === '' ? '' : `_${version}`)
}

/** `/apis/apps/v1` */
export function rootOf(group: string, version: string): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`
}

/** `a Pod`, `an Event` */
export function oneOf(kind: string): string {
  return `${/^[AEIOU]/.test(kind) ? 'an' : 'a'} ${kind}`
}
