import type { KeyObject } from 'node:crypto'
import { algorithmOf, keyIdOf } from '#apiserver/authn/service-account/jwt.ts'

/** What others need to verify service account tokens by themselves: the content of the two OpenID discovery paths. */
export type OpenIdMetadata = { configuration: string; keySet: string; maxAgeSeconds: number }

export const openIdConfigurationPath = '/.well-known/openid-configuration'
export const keySetPath = '/openid/v1/jwks'

/** Throws where the issuer is not one that OpenID allows; then the paths are not served. */
export function openIdMetadata(
  issuer: string,
  publicKeys: readonly KeyObject[],
  where: { keySetUri?: string; externalAddress: string },
): OpenIdMetadata {
  mustBeHttps(issuer)
  const keySetUri = where.keySetUri || `https://${where.externalAddress}${keySetPath}`
  if (new URL(keySetUri).protocol !== 'https:') throw new Error(`jwksURI requires https scheme, parsed as: ${keySetUri}`)
  const algorithms = [...new Set(publicKeys.map(algorithmOf))].sort()
  return {
    configuration: JSON.stringify({
      issuer,
      jwks_uri: keySetUri,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: algorithms,
    }),
    keySet: JSON.stringify({ keys: publicKeys.map(jsonWebKey) }),
    maxAgeSeconds: 3600,
  }
}

function jsonWebKey(publicKey: KeyObject): Record<string, unknown> {
  const { kty, crv, x, y, n, e } = publicKey.export({ format: 'jwk' })
  const known = Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined)
  return { use: 'sig', kid: keyIdOf(publicKey), alg: algorithmOf(publicKey), ...Object.fromEntries(known) }
}

function mustBeHttps(issuer: string): void {
  if (issuer === '') throw new Error('empty issuer URL')
  const { protocol, search, hash } = new URL(issuer)
  if (protocol !== 'https:') throw new Error(`issuer URL must use https scheme, got: ${issuer}`)
  if (search !== '') throw new Error(`issuer URL may not include a query, got: ${issuer}`)
  if (hash !== '') throw new Error(`issuer URL may not include a fragment, got: ${issuer}`)
}
