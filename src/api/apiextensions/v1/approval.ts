/** Groups of the Kubernetes community need somebody's word, in an annotation. */
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { parseGoUrl } from '#api/meta/go-url.ts'

export const approvalAnnotation = 'api-approved.kubernetes.io'

export type Approval = { readonly state: 'missing' | 'bypassed' | 'approved' | 'invalid'; readonly reason: string }

export const isCommunityGroup = (group: string | undefined): boolean => /(^|\.)(k8s|kubernetes)\.io$/.test(group ?? '')

const needed = `protected groups must have approval annotation ${quoted(approvalAnnotation)}`
const reference = 'see https://github.com/kubernetes/enhancements/pull/1111'

export function approvalOf({ metadata }: V1CustomResourceDefinition): Approval {
  const annotation = metadata?.annotations?.[approvalAnnotation] ?? ''
  if (annotation === '') return { state: 'missing', reason: `${needed}, ${reference}` }
  if (annotation.startsWith('unapproved')) return { state: 'bypassed', reason: `not approved: ${quoted(annotation)}` }
  return isUrl(annotation)
    ? { state: 'approved', reason: `approved in ${annotation}` }
    : { state: 'invalid', reason: `${needed} with either a URL or a reason starting with "unapproved", ${reference}` }
}

function isUrl(text: string): boolean {
  try {
    const { host, scheme } = parseGoUrl(text)
    return host !== '' && scheme !== ''
  } catch {
    return false
  }
}
