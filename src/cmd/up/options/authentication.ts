import { defineOptions, duration, list, onOff, text, wholeNumber } from '#base/options.ts'

const file = { placeholder: 'FILE', default: '' }
const claim = { placeholder: 'CLAIM', default: '' }

/** Who is let in; names are the API server's. */
export const authenticationOptions = defineOptions({
  anonymousAuth: onOff('let requests without credentials in, as system:anonymous', { default: true }),
  token: text('accept this token as the user admin in system:masters (for tests)', { placeholder: 'TOKEN', default: '' }),
  tokenAuthFile: text('accept the tokens of this file: token,user,uid[,"group,group"]', file),
  basicAuthFile: text('legacy: accept the passwords of this file: password,user,uid[,"group,group"]', file),
  authenticationConfig: text('an AuthenticationConfiguration: OpenID issuers, and where anonymous requests are let in', file),
  oidcIssuerUrl: text('accept identity tokens of this OpenID issuer', { placeholder: 'URL', default: '' }),
  oidcClientId: text('what the tokens of the OpenID issuer must be meant for', { placeholder: 'ID', default: '' }),
  oidcUsernameClaim: text("the claim that is the user's name", { placeholder: 'CLAIM', default: 'sub' }),
  oidcUsernamePrefix: text("what is put before the user's name ('-': nothing)", {
    placeholder: 'TEXT',
    default: '',
    defaultText: 'ISSUER#, unless the claim is email',
  }),
  oidcGroupsClaim: text("the claim that holds the user's groups", claim),
  oidcGroupsPrefix: text("what is put before the groups' names", { default: '' }),
  oidcRequiredClaim: list('claims that tokens must have with these values (a=b,…)', { placeholder: 'LIST', default: [] }),
  oidcCaFile: text("the certificate authority (CA) of the OpenID issuer, where it is not one of the system's", file),
  oidcSigningAlgs: list('how tokens of the OpenID issuer may be signed', { placeholder: 'LIST', default: ['RS256'] }),
  experimentalKeystoneUrl: text('accept passwords and tokens that the Keystone (OpenStack) at this address knows', {
    placeholder: 'URL',
    default: '',
  }),
  experimentalKeystoneCaFile: text("the certificate authority (CA) of that Keystone, where it is not one of the system's", file),
  authenticationTokenWebhookConfigFile: text('ask the service that this kubeconfig describes whose a token is', file),
  authenticationTokenWebhookVersion: text('in which version to ask it', { default: 'v1beta1', choices: ['v1', 'v1beta1'] }),
  authenticationTokenWebhookCacheTtl: duration('how long its answers hold', { default: 120_000, defaultText: '2m' }),
  insecurePort: wholeNumber(
    'also serve without TLS on this port of the loopback address: whoever reaches it is in system:masters (0: not at all)',
    { placeholder: 'N', default: 0 },
  ),
})

/** Who service accounts are to others. */
export const serviceAccountOptions = defineOptions({
  serviceAccountIssuer: list('who issues the tokens of service accounts; those of all are accepted, the first issues', {
    placeholder: 'URL',
    default: ['https://kubernetes.default.svc'],
  }),
  serviceAccountKeyFile: list('also accept service account tokens signed by these keys', { placeholder: 'FILE', default: [] }),
  serviceAccountSigningKeyFile: text('sign service account tokens with this key', { ...file, defaultText: 'DATA-DIR/pki/sa.key' }),
  serviceAccountMaxTokenExpiration: duration('the longest life of a service account token (0: no limit)', { default: 0, defaultText: '0' }),
  serviceAccountExtendTokenExpiration: onOff('let injected tokens live longer, for pods that do not take new ones', { default: true }),
  serviceAccountJwksUri: text("where others find the keys of the cluster's tokens", { placeholder: 'URL', default: '' }),
  apiAudiences: list('what tokens must be meant for', { placeholder: 'LIST', default: [], defaultText: 'the service account issuer' }),
})
