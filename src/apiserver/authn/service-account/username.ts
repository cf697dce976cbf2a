import { dns1123Label, dns1123Subdomain } from '#api/meta/names.ts'
import { groups } from '#apiserver/authn/authenticator.ts'

const prefix = 'system:serviceaccount:'

export function serviceAccountUsername(namespace: string, name: string): string {
  return `${prefix}${namespace}:${name}`
}

/** The groups of every service account in the namespace. */
export function serviceAccountGroups(namespace: string): string[] {
  return [groups.serviceAccounts, `${groups.serviceAccounts}:${namespace}`]
}

/** Undefined unless a service account of that name could exist. */
export function splitServiceAccountUsername(username: string): { namespace: string; name: string } | undefined {
  if (!username.startsWith(prefix)) return undefined
  const parts = username.slice(prefix.length).split(':')
  const [namespace, name] = parts
  if (parts.length !== 2 || namespace === undefined || name === undefined) return undefined
  if (dns1123Label(namespace).length > 0 || dns1123Subdomain(name).length > 0) return undefined
  return { namespace, name }
}
