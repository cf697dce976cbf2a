/** Subjects were told apart by the version of their API, not by its group. */
import { apiVersionOf, parseApiVersion } from '#api/meta/gvk.ts'
import type { V1Subject } from '#api/rbac/v1/types.gen.ts'
import type { V1alpha1Subject } from '#api/rbac/v1alpha1/types.gen.ts'

const group = 'rbac.authorization.k8s.io'
const apiVersion = `${group}/v1alpha1`

export function defaultSubject(subject: V1alpha1Subject): void {
  if (subject.apiVersion) return
  if (subject.kind === 'ServiceAccount') subject.apiVersion = 'v1'
  else if (subject.kind === 'User' || subject.kind === 'Group') subject.apiVersion = apiVersion
}

export function subjectToV1({ apiVersion: version, ...subject }: V1alpha1Subject): V1Subject {
  const apiGroup = groupOf(subject.kind, version ?? '')
  // `*` was everybody with a name; later versions take it for a name like others.
  const named = subject.kind === 'User' && subject.name === '*' ? { ...subject, kind: 'Group', name: 'system:authenticated' } : subject
  return apiGroup === '' ? named : { ...named, apiGroup }
}

function groupOf(kind: string, version: string): string {
  if (kind === 'ServiceAccount') return ''
  if (kind === 'User' || kind === 'Group') return group
  return parseApiVersion(version)?.group ?? ''
}

export function subjectFromV1({ apiGroup = '', ...subject }: V1Subject): V1alpha1Subject {
  const { kind } = subject
  if (kind === 'ServiceAccount' && apiGroup === '') return { ...subject, apiVersion: 'v1' }
  if ((kind === 'User' || kind === 'Group') && apiGroup === group) return { ...subject, apiVersion }
  return apiGroup === '' ? subject : { ...subject, apiVersion: apiVersionOf({ group: apiGroup, version: '' }) }
}
