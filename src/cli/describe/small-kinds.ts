/** Kinds of which there is little to tell. */
import type { V1CertificateSigningRequest } from '#api/certificates/v1/types.gen.ts'
import { humanDuration } from '#api/meta/human-duration.ts'
import { labelsText } from '#api/meta/selector.ts'
import type { V1IngressClass, V1IPAddress, V1ServiceCIDR } from '#api/networking/v1/types.gen.ts'
import type { V1CSINode, V1VolumeAttributesClass } from '#api/storage/v1/types.gen.ts'
import type { ApiObject } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { type Description, rfc1123 } from './description.ts'

const orNone = (labels: Record<string, string> | undefined): string => labelsText(labels) || '<none>'

function heading(out: Description, { metadata }: Pick<ApiObject, 'metadata'>): void {
  out.field(0, 'Name', metadata?.name)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
}

export function describeIngressClass(out: Description, object: ApiObject): void {
  const { spec } = object as unknown as V1IngressClass
  heading(out, object)
  out.field(0, 'Controller', spec?.controller ?? '')
  if (spec?.parameters === undefined) return
  out.write(0, 'Parameters:\n')
  if (spec.parameters.apiGroup !== undefined) out.field(1, 'APIGroup', spec.parameters.apiGroup)
  out.field(1, 'Kind', spec.parameters.kind)
  out.field(1, 'Name', spec.parameters.name)
}

export function describeServiceRange(out: Description, object: ApiObject): void {
  const { spec, status } = object as unknown as V1ServiceCIDR
  heading(out, object)
  out.field(0, 'CIDRs', (spec?.cidrs ?? []).join(', '))
  if ((status?.conditions ?? []).length === 0) return
  out.write(0, 'Status:\n')
  out.write(0, 'Conditions:\n')
  out.write(1, 'Type\tStatus\tLastTransitionTime\tReason\tMessage\n')
  out.write(1, '----\t------\t------------------\t------\t-------\n')
  for (const { type, status: value, lastTransitionTime, reason, message } of status?.conditions ?? [])
    out.write(1, `${type}\t${value}\t${rfc1123(lastTransitionTime)}\t${reason}\t${message}\n`)
}

export function describeAddress(out: Description, object: ApiObject): void {
  const { spec } = object as unknown as V1IPAddress
  heading(out, object)
  const { group = '', resource = '', namespace = '', name = '' } = spec?.parentRef ?? {}
  if (spec?.parentRef === undefined) return
  out.write(0, 'Parent Reference:\n')
  for (const [title, value] of Object.entries({ Group: group, Resource: resource, Namespace: namespace, Name: name }))
    out.field(1, title, value)
}

export function describeStorageNode(out: Description, object: ApiObject): void {
  const { metadata, spec } = object as unknown as V1CSINode
  heading(out, object)
  out.field(0, 'CreationTimestamp', rfc1123(metadata?.creationTimestamp))
  out.write(0, 'Spec:\n')
  if (!spec.drivers) return
  out.write(1, 'Drivers:\n')
  for (const { name, nodeID, allocatable, topologyKeys } of spec.drivers) {
    out.write(2, `${name}:\n`)
    out.field(3, 'Node ID', nodeID)
    if (allocatable?.count !== undefined) {
      out.write(3, 'Allocatables:\n')
      out.field(4, 'Count', allocatable.count)
    }
    if (topologyKeys) out.field(3, 'Topology Keys', `[${topologyKeys.join(' ')}]`)
  }
}

export function describeAttributesClass(out: Description, object: ApiObject): void {
  const { metadata, driverName, parameters } = object as unknown as V1VolumeAttributesClass
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Annotations', orNone(metadata?.annotations))
  out.field(0, 'DriverName', driverName)
  out.field(0, 'Parameters', orNone(parameters))
}

export async function describeSigningRequest(out: Description, object: ApiObject): Promise<void> {
  const { metadata, spec, status } = object as unknown as V1CertificateSigningRequest
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Labels', orNone(metadata?.labels))
  out.field(0, 'Annotations', orNone(metadata?.annotations))
  out.field(0, 'CreationTimestamp', rfc1123(metadata?.creationTimestamp))
  out.field(0, 'Requesting User', spec.username ?? '')
  if (spec.signerName) out.field(0, 'Signer', spec.signerName)
  if (spec.expirationSeconds !== undefined) out.field(0, 'Requested Duration', humanDuration(spec.expirationSeconds * 1000))
  out.field(0, 'Status', signingStatus(status))
  const { requestedNames } = await import('./requested-names.ts')
  let names: ReturnType<typeof requestedNames>
  try {
    names = requestedNames(spec.request)
  } catch (error) {
    throw new CliError(`Error parsing CSR: ${(error as Error).message}`)
  }
  const list = (title: string, values: readonly string[]) => {
    if (values.length > 0) out.write(0, `\t${title}:\t${values.join('\n\t\t')}\n`)
  }
  out.write(0, 'Subject:\n')
  out.write(0, `\tCommon Name:\t${names.subject('commonName').at(-1) ?? ''}\n`)
  out.write(0, `\tSerial Number:\t${names.subject('serialNumber').at(-1) ?? ''}\n`)
  list('Organization', names.subject('organization'))
  list('Organizational Unit', names.subject('organizationalUnit'))
  list('Country', names.subject('country'))
  list('Locality', names.subject('locality'))
  list('Province', names.subject('province'))
  list('StreetAddress', names.subject('street'))
  list('PostalCode', names.subject('postalCode'))
  if (Object.values(names.alternatives).every((values) => values.length === 0)) return
  out.write(0, 'Subject Alternative Names:\n')
  list('DNS Names', names.alternatives.dns)
  list('Email Addresses', names.alternatives.emails)
  list('URIs', names.alternatives.uris)
  list('IP Addresses', names.alternatives.addresses)
}

/** What was decided, and whether the certificate has been signed. */
function signingStatus(status: V1CertificateSigningRequest['status']): string {
  const has = (type: string) => status?.conditions?.some((each) => each.type === type) ?? false
  const decided = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending'
  return `${decided}${has('Failed') ? ',Failed' : ''}${status?.certificate ? ',Issued' : ''}`
}
