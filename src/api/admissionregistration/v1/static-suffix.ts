/** Names kept for admission configuration that is read from files. */
import { type Check, quoted } from '#api/meta/check.ts'
import type { KubernetesObject, RuleContext } from '#api/resource.ts'

const suffix = '.static.k8s.io'
const reserved = `names ending with ${quoted(suffix)} are reserved for static manifest-based configurations and cannot be managed via the API`

export function validateStaticSuffix(check: Check<KubernetesObject>, context: RuleContext): void {
  const { metadata } = check.value
  const name = metadata?.name ?? ''
  if (name.endsWith(suffix) && context.isEnabled('ManifestBasedAdmissionControlConfig'))
    check.at('metadata').at('name').or('').invalid(reserved)
}

export function staticSuffixWarnings({ metadata }: KubernetesObject): string[] {
  return metadata?.name?.endsWith(suffix) ? [`metadata.name: ${reserved}`] : []
}
