/** Names of certificate signers, and of the trust bundles that belong to them. */
import { type Check, quoted } from '#api/meta/check.ts'
import { byteLength, dns1123Label, dns1123LabelMaxLength, dns1123Subdomain, dns1123SubdomainMaxLength } from '#api/meta/names.ts'

/** `example.com/signer-name`: a domain of two parts or more, and a path of dotted names. */
export function validateSignerName(check: Check<string>): void {
  const name = check.value
  if (name === '') {
    check.required()
    return
  }
  const [domain = '', path = '', ...rest] = name.split('/')
  if (rest.length > 0 || !name.includes('/')) {
    check.invalid("must be a fully qualified domain and path of the form 'example.com/signer-name'")
    return
  }
  if (byteLength(domain) > dns1123SubdomainMaxLength) check.tooLong(dns1123SubdomainMaxLength)
  const labels = domain.split('.')
  reportFirstWrong(labels, dns1123Label, domain, check)
  if (labels.length < 2) check.invalid('should be a domain with at least two segments separated by dots', domain)
  reportFirstWrong(path.split('.'), dns1123Subdomain, path, check)
  const longest = dns1123SubdomainMaxLength + 1 + (dns1123SubdomainMaxLength + dns1123LabelMaxLength + 1)
  if (byteLength(name) > longest) check.tooLong(longest)
}

function reportFirstWrong(labels: readonly string[], format: (label: string) => string[], shown: string, check: Check<unknown>): void {
  for (const label of labels) {
    const messages = format(label)
    for (const message of messages) check.invalid(`validating label ${quoted(label)}: ${message}`, shown)
    if (messages.length > 0) return
  }
}

/** What is wrong with the name of a trust bundle that belongs to the signer; to none when the signer is empty. */
export function trustBundleNameErrorsFor(signerName: string, name: string): string[] {
  if (signerName === '') {
    if (name.includes(':')) return ['ClusterTrustBundle without signer name must not have ":" in its name']
    return dns1123Subdomain(name)
  }
  const prefix = `${signerName.replaceAll('/', ':')}:`
  if (!name.startsWith(prefix)) return [`ClusterTrustBundle for signerName ${signerName} must be named with prefix ${prefix}`]
  return dns1123Subdomain(name.slice(prefix.length))
}

/** As the name itself tells its signer. */
export function trustBundleNameErrors(name: string): string[] {
  const colon = name.lastIndexOf(':')
  return trustBundleNameErrorsFor(colon < 0 ? '' : name.slice(0, colon).replaceAll(':', '/'), name)
}
