import { serverAddress } from '#dns/plugins/forward.ts'

/** What the config map `kube-dns` in kube-system says, in the words of the server that had the name first. */
export type KubeDnsSettings = { stubDomains: Record<string, string[]>; upstreams: string[] | undefined }

/** Throws where a value is no JSON of the right form, or names no servers. */
export function kubeDnsSettings(data: Readonly<Record<string, string>>): KubeDnsSettings {
  const { stubDomains: stubs, upstreamNameservers: servers } = data
  const settings: KubeDnsSettings = { stubDomains: {}, upstreams: undefined }
  if (stubs !== undefined) {
    const parsed = json('stubDomains', stubs)
    if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed))
      throw new Error('stubDomains is not a map of domains to servers')
    for (const [domain, list] of Object.entries(parsed)) {
      if (!/^([a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?$/i.test(domain)) throw new Error(`stubDomains: ${domain} is not a valid domain`)
      settings.stubDomains[domain] = addressesIn(`stubDomains: ${domain}`, list)
    }
  }
  if (servers !== undefined) settings.upstreams = addressesIn('upstreamNameservers', json('upstreamNameservers', servers))
  return settings
}

function json(key: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${key} is not valid JSON: ${text}`)
  }
}

function addressesIn(what: string, list: unknown): string[] {
  if (!Array.isArray(list) || list.length === 0) throw new Error(`${what} is not a list of servers`)
  for (const each of list) {
    if (typeof each !== 'string') throw new Error(`${what}: ${JSON.stringify(each)} is not a valid address`)
    serverAddress(each)
  }
  return list as string[]
}
