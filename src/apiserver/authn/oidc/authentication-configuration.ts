import { Check } from '#api/meta/check.ts'
import { type IdentityExpressions, readIdentityExpressions, type ValidationRule } from '#apiserver/authn/oidc/identity-expressions.ts'
import { ConfigDocument } from '#apiserver/config-document.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { trimEndOf } from '#base/trim-end.ts'

/** AuthenticationConfiguration of apiserver.config.k8s.io/v1. */
export type AuthenticationConfiguration = {
  jwt: JwtConfiguration[]
  /** Absent: as the flags say. */
  anonymous?: { enabled: boolean; paths: string[] }
}

/** Tokens of one issuer, and what their claims mean. */
export type JwtConfiguration = {
  issuer: string
  /** Where the issuer's discovery document is, if not below the issuer's own URL. */
  discoveryUrl?: string
  certificateAuthority?: string
  audiences: string[]
  requiredClaims: Record<string, string>
  username: { claim: string; prefix: string }
  groups?: { claim: string; prefix: string }
  uidClaim?: string
  expressions?: IdentityExpressions
}

const versions = ['apiserver.config.k8s.io/v1', 'apiserver.config.k8s.io/v1beta1']
const fields = {
  jwt: ['issuer', 'claimValidationRules', 'claimMappings', 'userValidationRules'],
  issuer: ['url', 'discoveryURL', 'certificateAuthority', 'audiences', 'audienceMatchPolicy', 'egressSelectorType'],
  rule: ['claim', 'requiredValue', 'expression', 'message'],
  mappings: ['username', 'groups', 'uid', 'extra'],
  mapping: ['claim', 'prefix', 'expression'],
} as const

/** `ownIssuers` issue service account tokens, and nobody else may claim to. */
export async function parseAuthenticationConfiguration(
  text: string,
  path: string,
  ownIssuers: readonly string[],
): Promise<AuthenticationConfiguration> {
  const { document, root } = await ConfigDocument.read(text, path, 'AuthenticationConfiguration', versions, ['jwt', 'anonymous'])
  const check = new Check(undefined)
  const jwt = document.list(root['jwt'], 'jwt', (item, at) => jwtConfiguration(document, item, at, check.dynamic(at), ownIssuers))
  if (jwt.length > 64) check.dynamic('jwt').tooMany(jwt.length, 64)
  for (const [index, { issuer, discoveryUrl }] of jwt.entries()) {
    const place = check.dynamic('jwt').at(index).at('issuer')
    const earlier = jwt.slice(0, index)
    if (earlier.some((one) => one.issuer === issuer)) place.dynamic('url').duplicate(issuer)
    if (discoveryUrl !== undefined && earlier.some((one) => one.discoveryUrl === discoveryUrl))
      place.dynamic('discoveryURL').duplicate(discoveryUrl)
  }
  const anonymous = root['anonymous'] === undefined ? undefined : anonymousConfiguration(document, root['anonymous'], check)
  document.mustBeSound(check.errors)
  return { jwt, ...defined({ anonymous }) }
}

function anonymousConfiguration(document: ConfigDocument, value: unknown, check: Check<unknown>): { enabled: boolean; paths: string[] } {
  const map = document.map(value, 'anonymous', ['enabled', 'conditions'])
  const paths = document.list(map['conditions'], 'anonymous.conditions', (item, at) =>
    document.text(document.map(item, at, ['path'])['path'], `${at}.path`),
  )
  const enabled = document.flag(map['enabled'], 'anonymous.enabled', false)
  if (!enabled && paths.length > 0) {
    check.dynamic('anonymous').at('conditions').invalid('enabled should be set to true when conditions are defined', paths)
  }
  return { enabled, paths }
}

function jwtConfiguration(
  document: ConfigDocument,
  value: unknown,
  at: string,
  check: Check<unknown>,
  ownIssuers: readonly string[],
): JwtConfiguration {
  const map = document.map(value, at, fields.jwt)
  const issuer = document.optionalMap(map['issuer'], `${at}.issuer`, fields.issuer)
  const mappings = document.optionalMap(map['claimMappings'], `${at}.claimMappings`, fields.mappings)
  const text = (from: Record<string, unknown>, name: string, where: string) => document.text(from[name], `${at}.${where}.${name}`)
  const mapping = (name: 'username' | 'groups' | 'uid') => {
    const one = document.optionalMap(mappings[name], `${at}.claimMappings.${name}`, fields.mapping)
    return {
      claim: text(one, 'claim', `claimMappings.${name}`),
      prefix: document.optionalText(one['prefix'], `${at}.claimMappings.${name}.prefix`),
      expression: text(one, 'expression', `claimMappings.${name}`),
    }
  }
  const [username, groups, uid] = [mapping('username'), mapping('groups'), mapping('uid')]
  const rules = document.list(map['claimValidationRules'], `${at}.claimValidationRules`, (item, where) => rule(document, item, where))
  const expressions = readIdentityExpressions(
    {
      claimRules: rules,
      userRules: document.list(map['userValidationRules'], `${at}.userValidationRules`, (item, where) => rule(document, item, where)),
      username,
      groups,
      uid,
      extra: document.list(mappings['extra'], `${at}.claimMappings.extra`, (item, where) => {
        const one = document.map(item, where, ['key', 'valueExpression'])
        return { key: document.text(one['key'], `${where}.key`), text: document.text(one['valueExpression'], `${where}.valueExpression`) }
      }),
    },
    check,
  )
  const discoveryUrl = text(issuer, 'discoveryURL', 'issuer')
  const certificateAuthority = text(issuer, 'certificateAuthority', 'issuer')
  const configuration: JwtConfiguration = {
    issuer: text(issuer, 'url', 'issuer'),
    ...omitEmpty({ discoveryUrl, certificateAuthority }),
    audiences: document.list(issuer['audiences'], `${at}.issuer.audiences`, (item, where) => document.text(item, where)),
    requiredClaims: Object.fromEntries(rules.filter(({ claim }) => claim !== '').map(({ claim, requiredValue }) => [claim, requiredValue])),
    username: { claim: username.claim, prefix: username.prefix ?? '' },
    ...defined({ groups: groups.claim === '' ? undefined : { claim: groups.claim, prefix: groups.prefix ?? '' } }),
    ...omitEmpty({ uidClaim: uid.claim }),
    ...defined({ expressions }),
  }
  validateIssuer(configuration, text(issuer, 'audienceMatchPolicy', 'issuer'), check.dynamic('issuer'), ownIssuers)
  if (username.claim === '') {
    if (username.expression === '') check.dynamic('claimMappings').at('username').required('claim or expression is required')
  }
  // A prefix that is forgotten lets an issuer name users of others: to have none must be said.
  else if (username.prefix === undefined) {
    check
      .dynamic('claimMappings')
      .at('username')
      .at('prefix')
      .required('prefix is required when claim is set. It can be set to an empty string to disable prefixing')
  }
  if (groups.claim !== '' && groups.prefix === undefined) {
    check
      .dynamic('claimMappings')
      .at('groups')
      .at('prefix')
      .required('prefix is required when claim is set. It can be set to an empty string to disable prefixing')
  }
  return configuration
}

function rule(document: ConfigDocument, value: unknown, at: string): ValidationRule {
  const map = document.map(value, at, fields.rule)
  const text = (name: (typeof fields.rule)[number]) => document.text(map[name], `${at}.${name}`)
  return { claim: text('claim'), requiredValue: text('requiredValue'), expression: text('expression'), message: text('message') }
}

function validateIssuer(
  { issuer, discoveryUrl, audiences }: JwtConfiguration,
  matchPolicy: string,
  check: Check<unknown>,
  ownIssuers: readonly string[],
): void {
  if (issuer === '') check.dynamic('url').required()
  else validateUrl(check.dynamic('url').with(issuer), ownIssuers)
  if (discoveryUrl !== undefined) {
    if (trimEndOf(issuer, '/') === trimEndOf(discoveryUrl, '/')) {
      check.dynamic('discoveryURL').invalid('discoveryURL must be different from URL', discoveryUrl)
    }
    validateUrl(check.dynamic('discoveryURL').with(discoveryUrl), [])
  }
  if (audiences.length === 0) check.dynamic('audiences').required('at least one audiences is required')
  for (const [index, audience] of audiences.entries()) {
    if (audience === '') check.dynamic('audiences').at(index).required()
    if (audiences.indexOf(audience) < index) check.dynamic('audiences').at(index).duplicate(audience)
  }
  if (audiences.length > 1 && matchPolicy !== 'MatchAny') {
    check.dynamic('audienceMatchPolicy').invalid('audienceMatchPolicy must be MatchAny for multiple audiences', matchPolicy)
  } else if (matchPolicy !== '' && matchPolicy !== 'MatchAny') {
    check.dynamic('audienceMatchPolicy').invalid('audienceMatchPolicy must be empty or MatchAny for single audience', matchPolicy)
  }
}

function validateUrl(check: Check<string>, ownIssuers: readonly string[]): void {
  const text = check.value
  if (ownIssuers.includes(text)) check.invalid(`URL must not overlap with disallowed issuers: [${ownIssuers.join(' ')}]`)
  if (!URL.canParse(text)) {
    check.invalid('is not a URL')
    return
  }
  const { protocol, username, password, search, hash } = new URL(text)
  if (protocol !== 'https:') check.invalid('URL scheme must be https')
  if (username !== '' || password !== '') check.invalid('URL must not contain a username or password')
  if (search !== '') check.invalid('URL must not contain a query')
  if (hash !== '') check.invalid('URL must not contain a fragment')
}

export type OidcFlags = {
  issuerUrl: string
  clientId: string
  certificateAuthority?: string
  usernameClaim?: string
  usernamePrefix?: string
  groupsClaim?: string
  groupsPrefix?: string
  requiredClaims?: Record<string, string>
}

/** What the flags --oidc-… say, which know one issuer only. */
export function jwtConfigurationOfFlags(flags: OidcFlags): JwtConfiguration {
  const { issuerUrl: issuer, usernameClaim: claim = 'sub', usernamePrefix, groupsClaim, groupsPrefix = '' } = flags
  // Names other than mail addresses are told apart by their issuer unless a prefix is given; "-" stands for none.
  const prefix = usernamePrefix === '-' ? '' : usernamePrefix || (claim === 'email' ? '' : `${issuer}#`)
  return {
    issuer,
    audiences: [flags.clientId],
    ...defined({ certificateAuthority: flags.certificateAuthority }),
    requiredClaims: flags.requiredClaims ?? {},
    username: { claim, prefix },
    ...defined({ groups: groupsClaim === undefined || groupsClaim === '' ? undefined : { claim: groupsClaim, prefix: groupsPrefix } }),
  }
}
