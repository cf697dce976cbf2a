import { parseSigningRequest } from '#api/certificates/v1/pem-errors.ts'
import { attributeTypes } from '#wire/x509/distinguished-name.ts'
import { ipAddressText } from '#wire/x509/ip-address.ts'

const types = {
  commonName: attributeTypes.commonName,
  serialNumber: attributeTypes.serialNumber,
  organization: attributeTypes.organization,
  organizationalUnit: attributeTypes.organizationalUnit,
  country: attributeTypes.country,
  locality: attributeTypes.locality,
  province: attributeTypes.province,
  street: attributeTypes.streetAddress,
  postalCode: attributeTypes.postalCode,
}

/** Whom a certificate is requested for. Throws where the request cannot be read. */
export function requestedNames(base64: string) {
  const request = parseSigningRequest(base64)
  return {
    subject: (attribute: keyof typeof types): string[] =>
      request.subject.attributes.filter(({ type }) => type === types[attribute]).map(({ value }) => value),
    alternatives: {
      dns: request.dnsNames,
      emails: request.emailAddresses,
      uris: request.uris,
      addresses: request.ipAddresses.map((each) => (typeof each === 'string' ? each : ipAddressText(each))),
    },
  }
}
