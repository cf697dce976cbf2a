import { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { portName, portNum } from '#api/meta/formats.ts'
import { ipForLegacyField, type LegacyField, parseIp, warningsForIp } from '#api/meta/ip.ts'
import {
  dns1035Label,
  dns1123Label,
  dns1123Subdomain,
  type Format,
  mustBe,
  nameIsDns1123Subdomain,
  pathSegmentName,
  wildcardDns1123Subdomain,
} from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { Ingress } from '#api/networking/v1/kinds.gen.ts'
import type {
  V1HTTPIngressPath,
  V1Ingress,
  V1IngressBackend,
  V1IngressLoadBalancerStatus,
  V1IngressRule,
  V1IngressTLS,
} from '#api/networking/v1/types.gen.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'

const classAnnotation = 'kubernetes.io/ingress.class'

/** Routes HTTP from outside of the cluster to services. */
export const ingressResource = defineResource(Ingress, {
  storagePath: 'ingress',
  generation: 'spec',
  allowUnconditionalUpdate: true,

  validate(ingress, check, context) {
    validateSpec(check.at('spec'), leniency(context))
    const annotation = ingress.metadata?.annotations?.[classAnnotation]
    const className = ingress.spec?.ingressClassName
    if (annotation !== undefined && className != null && annotation !== className) {
      // The path lacks its "metadata", as it does upstream.
      check.dynamic('annotations').at(classAnnotation).invalid('must match `ingressClassName` when both are specified', annotation)
    }
  },
  validateUpdate(_next, prev, check, context) {
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
    validateSpec(check.at('spec'), leniency(context, prev))
  },
  warningsOnCreate({ metadata, spec }) {
    return metadata?.annotations?.[classAnnotation] !== undefined && spec?.ingressClassName == null
      ? [`annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`]
      : []
  },

  subresources: {
    status: {
      validateUpdate(_next, prev, check, context) {
        const known = new Set(prev.status?.loadBalancer?.ingress?.flatMap(({ ip }) => ip || []))
        const strict = context.isEnabled('StrictIPCIDRValidation')
        validateLoadBalancer(check.at('status').at('loadBalancer'), { known, strict })
      },
      warningsOnUpdate: ({ status }) =>
        (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }, index) =>
          ip ? warningsForIp(`status.loadBalancer.ingress[${index}]`, ip) : [],
        ),
    },
  },

  columns: [
    nameColumn,
    {
      name: 'Class',
      type: 'string',
      description: 'The name of the IngressClass resource that should be used for additional configuration',
      cell: ({ spec }) => spec?.ingressClassName ?? '<none>',
    },
    {
      name: 'Hosts',
      type: 'string',
      description: 'Hosts that incoming requests are matched against before the ingress rule',
      cell: ({ spec }) => hostsCell(spec?.rules ?? []),
    },
    {
      name: 'Address',
      type: 'string',
      description: 'Address is a list containing ingress points for the load-balancer',
      cell: ({ status }) => addressCell(status?.loadBalancer),
    },
    {
      name: 'Ports',
      type: 'string',
      description: 'Ports of TLS configurations that open',
      cell: ({ spec }) => (spec?.tls?.length ? '80, 443' : '80'),
    },
    ageColumn,
  ],
})

/** What an update may leave wrong because the stored object already has it, or an old version let it pass. */
type Leniency = { invalidSecretName: boolean; invalidWildcardRule: boolean; serviceName: Format; fields: FieldNames }

/** Errors are about the fields of the version that the client speaks. */
type FieldNames = { defaultBackend: string; serviceName: string; portName: string; portNumber: string }

const fieldNames: FieldNames = {
  defaultBackend: 'defaultBackend',
  serviceName: 'service.name',
  portName: 'service.port.name',
  portNumber: 'service.port.number',
}
const oldFieldNames: FieldNames = {
  defaultBackend: 'backend',
  serviceName: 'serviceName',
  portName: 'servicePort',
  portNumber: 'servicePort',
}
const oldVersions = ['extensions/v1beta1', 'networking.k8s.io/v1beta1']

function leniency(context: RuleContext, prev?: V1Ingress): Leniency {
  const relaxed = context.isEnabled('RelaxedServiceNameValidation') || (prev !== undefined && hasRelaxedServiceName(prev))
  const isOld = oldVersions.includes(context.requestVersion ?? '')
  return {
    fields: isOld ? oldFieldNames : fieldNames,
    invalidSecretName: isOld || (prev?.spec?.tls ?? []).some(({ secretName }) => secretName && dns1123Subdomain(secretName).length > 0),
    invalidWildcardRule: isOld || (prev?.spec?.rules ?? []).some((rule) => rule.host?.includes('*') && isInvalidRule(rule)),
    serviceName: relaxed ? dns1123Label : dns1035Label,
  }
}

function hasRelaxedServiceName({ spec }: V1Ingress): boolean {
  const backends = [spec?.defaultBackend, ...(spec?.rules ?? []).flatMap(({ http }) => (http?.paths ?? []).map((path) => path.backend))]
  return backends.some((backend) => {
    const name = backend?.service?.name
    return name !== undefined && dns1123Label(name).length === 0 && dns1035Label(name).length > 0
  })
}

function isInvalidRule(rule: V1IngressRule): boolean {
  const scratch = new Check(rule)
  validateRule(scratch, { invalidSecretName: false, invalidWildcardRule: false, serviceName: dns1035Label, fields: fieldNames })
  return scratch.failed
}

function validateSpec(check: Check<V1Ingress['spec']>, allowed: Leniency): void {
  const spec = check.value
  const { rules, defaultBackend, tls, ingressClassName } = spec ?? {}
  if (!rules?.length && defaultBackend == null) {
    check.invalid(
      `either \`${allowed.fields.defaultBackend}\` or \`rules\` must be specified`,
      asInternal('[networking.IngressRule', rules),
    )
  }
  if (defaultBackend != null) validateBackend(check.dynamic(allowed.fields.defaultBackend).with(defaultBackend), allowed)
  check
    .at('rules')
    .with(rules)
    .each((item) => validateHostAndRule(item, allowed))
  check
    .at('tls')
    .with(tls)
    .each((item) => validateTls(item, allowed))
  if (ingressClassName != null) mustBe(dns1123Subdomain, check.at('ingressClassName').with(ingressClassName))
}

function validateHostAndRule(check: Check<V1IngressRule>, allowed: Leniency): void {
  const rule = check.value
  const { host } = rule
  const isWildcard = host?.includes('*') ?? false
  if (host) {
    if (parseIp(host) !== undefined) check.at('host').invalid('must be a DNS name, not an IP address')
    mustBe(isWildcard ? wildcardDns1123Subdomain : dns1123Subdomain, check.at('host').present)
  }
  if (!isWildcard || !allowed.invalidWildcardRule) validateRule(check, allowed)
}

function validateRule(check: Check<V1IngressRule>, allowed: Leniency): void {
  const { http } = check.value
  if (http == null) return
  const paths = check.at('http').at('paths')
  if (!http.paths?.length) paths.required()
  paths.each((item) => validatePath(item, allowed))
}

const forbiddenInPath = ['//', '/./', '/../', '%2f', '%2F']
const forbiddenAtEnd = ['/..', '/.']

function validatePath(check: Check<V1HTTPIngressPath>, allowed: Leniency): void {
  const { path = '', pathType } = check.value
  if (pathType == null) {
    check.at('pathType').required('pathType must be specified')
    return
  }
  const pathCheck = check.at('path')
  switch (pathType) {
    case 'Exact':
    case 'Prefix':
      if (!path.startsWith('/')) pathCheck.or('').invalid('must be an absolute path')
      for (const part of forbiddenInPath) if (path.includes(part)) pathCheck.or('').invalid(`must not contain '${part}'`)
      for (const end of forbiddenAtEnd) if (path.endsWith(end)) pathCheck.or('').invalid(`cannot end with '${end}'`)
      break
    case 'ImplementationSpecific':
      if (path !== '' && !path.startsWith('/')) pathCheck.or('').invalid('must be an absolute path')
      break
    default:
      check.at('pathType').notSupported(['Exact', 'ImplementationSpecific', 'Prefix'])
  }
  validateBackend(check.at('backend').or({}), allowed)
}

function validateBackend(check: Check<V1IngressBackend>, allowed: Leniency): void {
  const { service, resource } = check.value
  if (resource != null && service != null) {
    check.invalid('cannot set both resource and service backends', '')
    return
  }
  if (resource != null) {
    validateResourceReference(check.at('resource').present)
    return
  }
  if (service == null) {
    check.invalid('resource or service backend is required', '')
    return
  }

  const { name, number } = service.port ?? {}
  const { fields } = allowed
  if (!service.name) check.dynamic(fields.serviceName).required()
  else mustBe(allowed.serviceName, check.dynamic(fields.serviceName).with(service.name))
  if (name && number) check.invalid('cannot set both port name & port number', '')
  else if (name) mustBe(portName, check.dynamic(fields.portName).with(name))
  else if (number) for (const message of portNum(number)) check.dynamic(fields.portNumber).invalid(message, number)
  else check.required('port name or number is required')
}

function validateResourceReference(check: Check<NonNullable<V1IngressBackend['resource']>>): void {
  const reference = check.value
  const { apiGroup, kind, name } = reference
  if (apiGroup != null) mustBe(dns1123Subdomain, check.at('apiGroup').present)
  if (!kind) check.at('kind').required()
  else mustBe(pathSegmentName, check.at('kind'))
  if (!name) check.at('name').required()
  else mustBe(pathSegmentName, check.at('name'))
}

function validateTls(check: Check<V1IngressTLS>, allowed: Leniency): void {
  const { secretName } = check.value
  check.at('hosts').each((item) => {
    const host = item.value
    mustBe(host.includes('*') ? wildcardDns1123Subdomain : dns1123Subdomain, item)
  })
  if (secretName && !allowed.invalidSecretName) mustBe(dns1123Subdomain, check.at('secretName').present)
}

function validateLoadBalancer(check: Check<V1IngressLoadBalancerStatus | undefined>, allowed: LegacyField): void {
  check.at('ingress').each((item) => {
    const { ip, hostname } = item.value
    if (ip) ipForLegacyField(item.at('ip').present, allowed)
    if (!hostname) return
    mustBe(dns1123Subdomain, item.at('hostname').present)
    if (parseIp(hostname) !== undefined) item.at('hostname').invalid('must be a DNS name, not an IP address')
  })
}

const hostsShown = 3

function hostsCell(rules: readonly V1IngressRule[]): string {
  const hosts: string[] = []
  let hasMore = false
  for (const { host } of rules) {
    if (hosts.length === hostsShown) hasMore = true
    else if (host) hosts.push(host)
  }
  if (hosts.length === 0) return '*'
  return hasMore ? `${hosts.join(',')} + ${rules.length - hostsShown} more...` : hosts.join(',')
}

function addressCell(status: V1IngressLoadBalancerStatus | undefined): string {
  const addresses = new Set((status?.ingress ?? []).flatMap(({ ip, hostname }) => ip || hostname || []))
  return [...addresses].sort().join(',')
}
