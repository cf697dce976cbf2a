import type { ServiceAccountIssuer } from '#apiserver/authn/service-account/issuer.ts'
import {
  keySetPath,
  type OpenIdMetadata,
  openIdConfigurationPath,
  openIdMetadata,
} from '#apiserver/authn/service-account/openid-metadata.ts'
import type { Endpoint } from '#apiserver/http/handler.ts'
import type { Logger } from '#base/log.ts'

/** The two paths where others find out how to verify the cluster's tokens; none where the issuer is not one that OpenID allows. */
export function openIdEndpoints(
  { issuers, publicKeys, keySetUri }: ServiceAccountIssuer,
  externalAddress: () => string,
  logger: Logger,
): ReadonlyMap<string, Endpoint> {
  const metadata = () => openIdMetadata(issuers[0] ?? '', publicKeys(), { keySetUri, externalAddress: externalAddress() })
  const endpoint =
    (contentType: string, content: (metadata: OpenIdMetadata) => string): Endpoint =>
    ({ exchange }) => {
      const made = metadata()
      const headers = { 'content-type': contentType, 'cache-control': `public, max-age=${made.maxAgeSeconds}` }
      exchange.respond(200, headers, content(made))
    }
  try {
    metadata()
  } catch (error) {
    logger.info('OIDC discovery of service account tokens is not served', { error: String(error) })
    return new Map()
  }
  return new Map([
    [openIdConfigurationPath, endpoint('application/json', ({ configuration }) => configuration)],
    [keySetPath, endpoint('application/jwk-set+json', ({ keySet }) => keySet)],
  ])
}
