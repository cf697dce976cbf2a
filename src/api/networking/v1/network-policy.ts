import { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { portName, portNum } from '#api/meta/formats.ts'
import { cidrContains, cidrForLegacyField, type LegacyField, parseCidr, warningsForCidr } from '#api/meta/ip.ts'
import { validateLabelSelector } from '#api/meta/labels.ts'
import { mustBe } from '#api/meta/names.ts'
import { labelSelectorText } from '#api/meta/selector.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import { NetworkPolicy } from '#api/networking/v1/kinds.gen.ts'
import type { V1IPBlock, V1NetworkPolicy, V1NetworkPolicyPeer, V1NetworkPolicyPort } from '#api/networking/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Says which traffic pods may get and send; what no policy selects is open. */
export const networkPolicyResource = defineResource(NetworkPolicy, {
  generation: 'spec',
  allowUnconditionalUpdate: true,

  defaults(policy) {
    policy.spec ??= {}
    const { spec } = policy
    for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
      for (const port of rule.ports ?? []) port.protocol ??= 'TCP'
    }
    if (!spec.policyTypes?.length) spec.policyTypes = spec.egress?.length ? ['Ingress', 'Egress'] : ['Ingress']
  },
  validate(_policy, check, context) {
    validateSpec(check.at('spec'), { cidrs: { strict: context.isEnabled('StrictIPCIDRValidation') }, invalidValues: false })
  },
  validateUpdate(_next, prev, check, context) {
    validateSpec(check.at('spec'), {
      cidrs: {
        known: new Set(ipBlocks(prev).flatMap(({ block }) => [block.cidr, ...(block.except ?? [])])),
        strict: context.isEnabled('StrictIPCIDRValidation'),
      },
      invalidValues: isInvalid(prev.spec?.podSelector),
    })
  },
  warningsOnCreate: cidrWarnings,
  warningsOnUpdate: cidrWarnings,

  columns: [
    nameColumn,
    {
      name: 'Pod-Selector',
      type: 'string',
      description: { field: 'NetworkPolicySpec.podSelector' },
      cell: ({ spec }) => labelSelectorText(spec?.podSelector),
    },
    ageColumn,
  ],
})

/**
 * What an update may leave wrong because the stored policy already has it. Rules may have moved, so that a CIDR is taken
 * wherever it now stands.
 */
type Leniency = { cidrs: LegacyField; invalidValues: boolean }

function validateSpec(check: Check<V1NetworkPolicy['spec']>, allowed: Leniency): void {
  const spec = check.value
  const { podSelector, ingress, egress, policyTypes = [] } = spec ?? {}
  validateLabelSelector(check.at('podSelector').with(podSelector ?? {}), { allowInvalidValues: allowed.invalidValues })
  check
    .at('ingress')
    .with(ingress)
    .each((rule) => {
      rule.at('ports').each(validatePort)
      rule.at('from').each((item) => validatePeer(item, allowed))
    })
  check
    .at('egress')
    .with(egress)
    .each((rule) => {
      rule.at('ports').each(validatePort)
      rule.at('to').each((item) => validatePeer(item, allowed))
    })
  if (policyTypes.length > 2) {
    check.at('policyTypes').invalid('may not specify more than two policyTypes', policyTypes)
    return
  }
  check
    .at('policyTypes')
    .with(policyTypes)
    .each((item) => {
      const type = item.value
      if (type !== 'Ingress' && type !== 'Egress') item.notSupported(['Ingress', 'Egress'])
    })
}

function isInvalid(selector: V1LabelSelector | undefined): boolean {
  const scratch = new Check(selector)
  validateLabelSelector(scratch)
  return scratch.failed
}

const protocols = ['TCP', 'UDP', 'SCTP']

function validatePort(check: Check<V1NetworkPolicyPort>): void {
  const { protocol, port, endPort } = check.value
  if (protocol != null && !protocols.includes(protocol)) check.at('protocol').notSupported(protocols)
  if (port == null) {
    if (endPort != null) check.at('endPort').invalid('may not be specified when `port` is not specified')
  } else if (typeof port === 'number') {
    for (const message of portNum(port)) check.at('port').invalid(message)
    if (endPort == null) return
    // Upstream shows the port here, not the end.
    if (endPort < port) check.at('endPort').invalid('must be greater than or equal to `port`', port)
    for (const message of portNum(endPort)) check.at('endPort').invalid(message)
  } else {
    if (endPort != null) check.at('endPort').invalid('may not be specified when `port` is non-numeric')
    mustBe(portName, check.at('port').with(port))
  }
}

function validatePeer(check: Check<V1NetworkPolicyPeer>, allowed: Leniency): void {
  const { podSelector, namespaceSelector, ipBlock } = check.value
  const options = { allowInvalidValues: allowed.invalidValues }
  if (podSelector != null) validateLabelSelector(check.at('podSelector'), options)
  if (namespaceSelector != null) validateLabelSelector(check.at('namespaceSelector'), options)
  if (ipBlock != null) validateIpBlock(check.at('ipBlock').present, allowed.cidrs)

  const hasSelector = podSelector != null || namespaceSelector != null
  if (!hasSelector && ipBlock == null) check.required('must specify a peer')
  else if (hasSelector && ipBlock != null) check.forbidden('may not specify both ipBlock and another peer')
}

function validateIpBlock(check: Check<V1IPBlock>, allowed: LegacyField): void {
  const { cidr } = check.value
  if (!cidr) {
    check.at('cidr').required()
    return
  }
  cidrForLegacyField(check.at('cidr'), allowed)
  const network = parseCidr(cidr)
  if (network === undefined) return
  check.at('except').each((item) => {
    const text = item.value
    cidrForLegacyField(item, allowed)
    const part = parseCidr(text)
    if (part === undefined) return
    if (!cidrContains(network, part.network) || network.prefixLength >= part.prefixLength) {
      item.invalid('must be a strict subset of `cidr`')
    }
  })
}

function ipBlocks({ spec }: V1NetworkPolicy): { path: string; block: V1IPBlock }[] {
  const found: { path: string; block: V1IPBlock }[] = []
  const add = (peers: V1NetworkPolicyPeer[] | undefined, path: string) => {
    for (const [index, { ipBlock }] of (peers ?? []).entries()) {
      if (ipBlock != null) found.push({ path: `${path}[${index}].ipBlock`, block: ipBlock })
    }
  }
  for (const [index, { from }] of (spec?.ingress ?? []).entries()) add(from, `spec.ingress[${index}].from`)
  for (const [index, { to }] of (spec?.egress ?? []).entries()) add(to, `spec.egress[${index}].to`)
  return found
}

function cidrWarnings(policy: V1NetworkPolicy): string[] {
  return ipBlocks(policy).flatMap(({ path, block }) => [
    ...warningsForCidr(`${path}.cidr`, block.cidr),
    ...(block.except ?? []).flatMap((except, index) => warningsForCidr(`${path}.except[${index}]`, except)),
  ])
}
