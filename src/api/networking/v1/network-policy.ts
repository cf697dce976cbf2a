import { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { each } from '#api/meta/each.ts'
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
  validate(policy, check, context) {
    validateSpec(policy, check.at('spec'), { cidrs: { strict: context.isEnabled('StrictIPCIDRValidation') }, invalidValues: false })
  },
  validateUpdate(next, prev, check, context) {
    validateSpec(next, check.at('spec'), {
      cidrs: {
        known: ipBlocks(prev).flatMap(({ block }) => [block.cidr, ...(block.except ?? [])]),
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

function validateSpec({ spec }: V1NetworkPolicy, check: Check, allowed: Leniency): void {
  const { podSelector, ingress, egress, policyTypes = [] } = spec ?? {}
  validateLabelSelector(podSelector ?? {}, check.at('podSelector'), { allowInvalidValues: allowed.invalidValues })
  each(ingress, check.at('ingress'), ({ ports, from }, rule) => {
    each(ports, rule.at('ports'), validatePort)
    each(from, rule.at('from'), (peer, item) => validatePeer(peer, item, allowed))
  })
  each(egress, check.at('egress'), ({ ports, to }, rule) => {
    each(ports, rule.at('ports'), validatePort)
    each(to, rule.at('to'), (peer, item) => validatePeer(peer, item, allowed))
  })
  if (policyTypes.length > 2) {
    check.at('policyTypes').invalid(policyTypes, 'may not specify more than two policyTypes')
    return
  }
  each(policyTypes, check.at('policyTypes'), (type, item) => {
    if (type !== 'Ingress' && type !== 'Egress') item.notSupported(type, ['Ingress', 'Egress'])
  })
}

function isInvalid(selector: V1LabelSelector | undefined): boolean {
  const scratch = new Check()
  validateLabelSelector(selector, scratch)
  return scratch.failed
}

const protocols = ['TCP', 'UDP', 'SCTP']

function validatePort({ protocol, port, endPort }: V1NetworkPolicyPort, check: Check): void {
  if (protocol != null && !protocols.includes(protocol)) check.at('protocol').notSupported(protocol, protocols)
  if (port == null) {
    if (endPort != null) check.at('endPort').invalid(endPort, 'may not be specified when `port` is not specified')
  } else if (typeof port === 'number') {
    for (const message of portNum(port)) check.at('port').invalid(port, message)
    if (endPort == null) return
    // Upstream shows the port here, not the end.
    if (endPort < port) check.at('endPort').invalid(port, 'must be greater than or equal to `port`')
    for (const message of portNum(endPort)) check.at('endPort').invalid(endPort, message)
  } else {
    if (endPort != null) check.at('endPort').invalid(endPort, 'may not be specified when `port` is non-numeric')
    mustBe(portName, port, check.at('port'))
  }
}

function validatePeer({ podSelector, namespaceSelector, ipBlock }: V1NetworkPolicyPeer, check: Check, allowed: Leniency): void {
  const options = { allowInvalidValues: allowed.invalidValues }
  if (podSelector != null) validateLabelSelector(podSelector, check.at('podSelector'), options)
  if (namespaceSelector != null) validateLabelSelector(namespaceSelector, check.at('namespaceSelector'), options)
  if (ipBlock != null) validateIpBlock(ipBlock, check.at('ipBlock'), allowed.cidrs)

  const hasSelector = podSelector != null || namespaceSelector != null
  if (!hasSelector && ipBlock == null) check.required('must specify a peer')
  else if (hasSelector && ipBlock != null) check.forbidden('may not specify both ipBlock and another peer')
}

function validateIpBlock({ cidr, except }: V1IPBlock, check: Check, allowed: LegacyField): void {
  if (!cidr) {
    check.at('cidr').required()
    return
  }
  cidrForLegacyField(cidr, check.at('cidr'), allowed)
  const network = parseCidr(cidr)
  if (network === undefined) return
  each(except, check.at('except'), (text, item) => {
    cidrForLegacyField(text, item, allowed)
    const part = parseCidr(text)
    if (part === undefined) return
    if (!cidrContains(network, part.network) || network.prefixLength >= part.prefixLength) {
      item.invalid(text, 'must be a strict subset of `cidr`')
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
