import { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { each } from '#api/meta/each.ts'
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
import { putBack } from '#api/meta/put-back.ts'
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
  resetFields: ['status'],

  prepareForCreate(ingress) {
    ingress.status = {}
  },
  prepareForUpdate: (next, prev) => putBack(next, prev, 'status'),
  validate(ingress, check, context) {
    validateSpec(ingress, check.at('spec'), leniency(context))
    const annotation = ingress.metadata?.annotations?.[classAnnotation]
    const className = ingress.spec?.ingressClassName
    if (annotation !== undefined && className != null && annotation !== className) {
      // The path lacks its "metadata", as it does upstream.
      check.at('annotations').at(classAnnotation).invalid(annotation, 'must match `ingressClassName` when both are specified')
    }
  },
  validateUpdate(next, prev, check, context) {
    validateObjectMeta(next.metadata, { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain }, check.at('metadata'))
    validateSpec(next, check.at('spec'), leniency(context, prev))
  },
  warningsOnCreate({ metadata, spec }) {
    return metadata?.annotations?.[classAnnotation] !== undefined && spec?.ingressClassName == null
      ? [`annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`]
      : []
  },

  subresources: {
    status: {
      resetFields: ['spec'],
      prepareForUpdate: (next, prev) => putBack(next, prev, 'spec'),
      validateUpdate(next, prev, check, context) {
        const known = (prev.status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip || [])
        const strict = context.isEnabled('StrictIPCIDRValidation')
        validateLoadBalancer(next.status?.loadBalancer, check.at('status.loadBalancer'), { known, strict })
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
  const scratch = new Check()
  validateRule(rule, scratch, { invalidSecretName: false, invalidWildcardRule: false, serviceName: dns1035Label, fields: fieldNames })
  return scratch.failed
}

function validateSpec({ spec }: V1Ingress, check: Check, allowed: Leniency): void {
  const { rules, defaultBackend, tls, ingressClassName } = spec ?? {}
  if (!rules?.length && defaultBackend == null) {
    check.invalid(
      asInternal('[networking.IngressRule', rules),
      `either \`${allowed.fields.defaultBackend}\` or \`rules\` must be specified`,
    )
  }
  if (defaultBackend != null) validateBackend(defaultBackend, check.at(allowed.fields.defaultBackend), allowed)
  each(rules, check.at('rules'), (rule, item) => validateHostAndRule(rule, item, allowed))
  each(tls, check.at('tls'), (entry, item) => validateTls(entry, item, allowed))
  if (ingressClassName != null) mustBe(dns1123Subdomain, ingressClassName, check.at('ingressClassName'))
}

function validateHostAndRule(rule: V1IngressRule, check: Check, allowed: Leniency): void {
  const { host } = rule
  const isWildcard = host?.includes('*') ?? false
  if (host) {
    if (parseIp(host) !== undefined) check.at('host').invalid(host, 'must be a DNS name, not an IP address')
    mustBe(isWildcard ? wildcardDns1123Subdomain : dns1123Subdomain, host, check.at('host'))
  }
  if (!isWildcard || !allowed.invalidWildcardRule) validateRule(rule, check, allowed)
}

function validateRule({ http }: V1IngressRule, check: Check, allowed: Leniency): void {
  if (http == null) return
  const paths = check.at('http.paths')
  if (!http.paths?.length) paths.required()
  each(http.paths, paths, (path, item) => validatePath(path, item, allowed))
}

const forbiddenInPath = ['//', '/./', '/../', '%2f', '%2F']
const forbiddenAtEnd = ['/..', '/.']

function validatePath({ path = '', pathType, backend }: V1HTTPIngressPath, check: Check, allowed: Leniency): void {
  if (pathType == null) {
    check.at('pathType').required('pathType must be specified')
    return
  }
  const pathCheck = check.at('path')
  switch (pathType) {
    case 'Exact':
    case 'Prefix':
      if (!path.startsWith('/')) pathCheck.invalid(path, 'must be an absolute path')
      for (const part of forbiddenInPath) if (path.includes(part)) pathCheck.invalid(path, `must not contain '${part}'`)
      for (const end of forbiddenAtEnd) if (path.endsWith(end)) pathCheck.invalid(path, `cannot end with '${end}'`)
      break
    case 'ImplementationSpecific':
      if (path !== '' && !path.startsWith('/')) pathCheck.invalid(path, 'must be an absolute path')
      break
    default:
      check.at('pathType').notSupported(pathType, ['Exact', 'ImplementationSpecific', 'Prefix'])
  }
  validateBackend(backend ?? {}, check.at('backend'), allowed)
}

function validateBackend({ service, resource }: V1IngressBackend, check: Check, allowed: Leniency): void {
  if (resource != null && service != null) {
    check.invalid('', 'cannot set both resource and service backends')
    return
  }
  if (resource != null) {
    validateResourceReference(resource, check.at('resource'))
    return
  }
  if (service == null) {
    check.invalid('', 'resource or service backend is required')
    return
  }

  const { name, number } = service.port ?? {}
  const { fields } = allowed
  if (!service.name) check.at(fields.serviceName).required()
  else mustBe(allowed.serviceName, service.name, check.at(fields.serviceName))
  if (name && number) check.invalid('', 'cannot set both port name & port number')
  else if (name) mustBe(portName, name, check.at(fields.portName))
  else if (number) for (const message of portNum(number)) check.at(fields.portNumber).invalid(number, message)
  else check.required('port name or number is required')
}

function validateResourceReference(reference: NonNullable<V1IngressBackend['resource']>, check: Check): void {
  const { apiGroup, kind, name } = reference
  if (apiGroup != null) mustBe(dns1123Subdomain, apiGroup, check.at('apiGroup'))
  if (!kind) check.at('kind').required()
  else mustBe(pathSegmentName, kind, check.at('kind'))
  if (!name) check.at('name').required()
  else mustBe(pathSegmentName, name, check.at('name'))
}

function validateTls({ hosts, secretName }: V1IngressTLS, check: Check, allowed: Leniency): void {
  each(hosts, check.at('hosts'), (host, item) => {
    mustBe(host.includes('*') ? wildcardDns1123Subdomain : dns1123Subdomain, host, item)
  })
  if (secretName && !allowed.invalidSecretName) mustBe(dns1123Subdomain, secretName, check.at('secretName'))
}

function validateLoadBalancer(status: V1IngressLoadBalancerStatus | undefined, check: Check, allowed: LegacyField): void {
  each(status?.ingress, check.at('ingress'), ({ ip, hostname }, item) => {
    if (ip) ipForLegacyField(ip, item.at('ip'), allowed)
    if (!hostname) return
    mustBe(dns1123Subdomain, hostname, item.at('hostname'))
    if (parseIp(hostname) !== undefined) item.at('hostname').invalid(hostname, 'must be a DNS name, not an IP address')
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
