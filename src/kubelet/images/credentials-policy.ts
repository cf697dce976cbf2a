/** `imagePullCredentialsVerificationPolicy`: for which images that are on the node a pod must show credentials. */
import { parseImageReference } from '#api/core/v1/pod-spec/image-reference.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'

type Configured = Pick<KubeletConfiguration, 'imagePullCredentialsVerificationPolicy' | 'preloadedImagesVerificationAllowlist'>

/** Whether credentials are to be shown for an image; `wasPulled` says that it came here by a pull of ours. */
export type CredentialsPolicy = (image: string, wasPulled: boolean) => boolean

/** Throws where the configuration makes no sense. */
export function credentialsPolicyOf(configuration: Configured): CredentialsPolicy {
  const { imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowed } = configuration
  if (policy !== 'NeverVerifyAllowlistedImages' && allowed.length > 0) {
    throw new Error(
      'preloadedImagesVerificationAllowlist can only be set with the policy "NeverVerifyAllowlistedImages" of imagePullCredentialsVerificationPolicy',
    )
  }
  switch (policy) {
    case 'NeverVerify':
      return () => false
    case 'NeverVerifyPreloadedImages':
      return (_, wasPulled) => wasPulled
    case 'AlwaysVerify':
      return () => true
    case 'NeverVerifyAllowlistedImages': {
      const isAllowed = allowlistOf(allowed)
      return (image) => !isAllowed(image)
    }
    default:
      throw new Error(`unknown image pull credential verification policy: ${policy}`)
  }
}

function allowlistOf(patterns: readonly string[]): (image: string) => boolean {
  const names = new Set<string>()
  const prefixes: string[] = []
  for (const pattern of patterns) {
    if (pattern !== pattern.trim()) throw new Error(`leading/trailing spaces are not allowed: ${pattern}`)
    const isPrefix = pattern.endsWith('/*')
    const text = isPrefix ? pattern.slice(0, -1) : pattern
    if (text === '') throw new Error(`the supplied pattern is too short: ${pattern}`)
    if (text.includes('*')) throw new Error(`not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`)
    if (isPrefix && text === '/') throw new Error('at least registry hostname is required')
    if (!isPrefix && nameOf(text) !== text) throw new Error(`neither tag nor digest is accepted in an image reference: ${pattern}`)
    if (isPrefix) prefixes.push(text)
    else names.add(text)
  }
  return (image) => {
    const name = nameOf(image)
    return names.has(name) || prefixes.some((prefix) => name.startsWith(prefix))
  }
}

/** The image's name as it was written, without tag and digest. */
function nameOf(image: string): string {
  const { tag, digest } = parseImageReference(image) ?? {}
  let name = image
  if (digest !== undefined && name.endsWith(`@${digest}`)) name = name.slice(0, -digest.length - 1)
  if (tag !== undefined && name.endsWith(`:${tag}`)) name = name.slice(0, -tag.length - 1)
  return name
}
