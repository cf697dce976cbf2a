import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import type { ServiceAccountSettings } from '#apiserver/access/settings.ts'
import type { ServiceAccountIssuer } from '#apiserver/authn/service-account/issuer.ts'
import type { PublicKeys } from '#apiserver/authn/service-account/verified-tokens.ts'
import type { ServerKeys } from '#apiserver/pki/server-keys.ts'
import type { Files } from '#base/files.ts'
import { decodePemBlocks, encodePem } from '#wire/pem.ts'

const shortestMaxMs = 3_600_000
const longestMaxMs = 2 ** 32 * 1000

/** The issuer that flags describe; with the cluster's own keys where they name none. */
export async function serviceAccountIssuer(
  settings: ServiceAccountSettings,
  keys: ServerKeys,
  files: Pick<Files, 'readText'>,
): Promise<ServiceAccountIssuer> {
  const { serviceAccountIssuer: issuers, serviceAccountMaxTokenExpiration: maxMs, apiAudiences } = settings
  validateIssuers(issuers)
  if (maxMs !== 0 && (maxMs < shortestMaxMs || maxMs > longestMaxMs)) {
    throw new Error('the service-account-max-token-expiration must be between 1 hour and 2^32 seconds')
  }
  const signing = settings.serviceAccountSigningKeyFile
  const own = signing === '' ? undefined : createPrivateKey(await files.readText(signing))
  const texts = await Promise.all(settings.serviceAccountKeyFile.map((path) => files.readText(path)))
  const others = [...(own === undefined ? [] : [createPublicKey(own)]), ...texts.flatMap(publicKeysOf)]
  return {
    issuers,
    audiences: apiAudiences.length > 0 ? apiAudiences : issuers.slice(0, 1),
    privateKey: () => own ?? keys.serviceAccountKeys.privateKey,
    publicKeys: withOthers(() => keys.serviceAccountKeys.publicKeys, others),
    maxExpirationSeconds: maxMs / 1000,
    extendsExpiration: settings.serviceAccountExtendTokenExpiration,
    keySetUri: settings.serviceAccountJwksUri,
  }
}

function validateIssuers(issuers: readonly string[]): void {
  if (issuers.length === 0 || issuers.includes('')) throw new Error('service-account-issuer is a required flag')
  for (const issuer of issuers) {
    if (issuer.includes(':') && !URL.canParse(issuer)) {
      throw new Error(`service-account-issuer ${JSON.stringify(issuer)} contained a ':' but was not a valid URL`)
    }
    if (issuers.indexOf(issuer) !== issuers.lastIndexOf(issuer))
      throw new Error(`service-account-issuer ${JSON.stringify(issuer)} already specified`)
  }
}

/** A file of private keys stands for the public ones that belong to them. */
function publicKeysOf(pem: string): KeyObject[] {
  return decodePemBlocks(pem).map(({ type, bytes }) => createPublicKey(encodePem(type, bytes)))
}

/** The same array as long as the cluster's keys are the same: what was verified is remembered by that. */
function withOthers(clusterKeys: PublicKeys, others: readonly KeyObject[]): PublicKeys {
  if (others.length === 0) return clusterKeys
  let known: readonly KeyObject[] = []
  let all: readonly KeyObject[] = []
  return () => {
    const current = clusterKeys()
    if (current !== known) {
      known = current
      all = [...others, ...current.filter((key) => !others.some((other) => other.equals(key)))]
    }
    return all
  }
}
