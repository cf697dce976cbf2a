import type { X509Certificate } from 'node:crypto'
import { parseDurationMs } from '#base/duration.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import type { KubeletAccess } from '#kubelet/server/kubelet-server.ts'

/** Who may ask a kubelet for what, as it is configured. */
export function accessOf(
  { authentication: { webhook, anonymous }, authorization }: KubeletConfiguration,
  clientAuthorities: () => readonly X509Certificate[] = () => [],
): KubeletAccess {
  return {
    clientAuthorities,
    reviewsTokens: webhook.enabled,
    allowsAnonymous: anonymous.enabled,
    allowsEverything: authorization.mode === 'AlwaysAllow',
    tokenLastsMs: parseDurationMs(webhook.cacheTTL),
    allowedLastsMs: parseDurationMs(authorization.webhook.cacheAuthorizedTTL),
    deniedLastsMs: parseDurationMs(authorization.webhook.cacheUnauthorizedTTL),
  }
}
