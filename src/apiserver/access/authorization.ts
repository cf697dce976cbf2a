import type { AccessSeams, AuthorizationSettings } from '#apiserver/access/settings.ts'
import { abacAuthorizer } from '#apiserver/authz/abac/abac-authorizer.ts'
import {
  type AuthorizationConfiguration,
  configurationOfModes,
  parseAuthorizationConfiguration,
  type WebhookConfiguration,
} from '#apiserver/authz/authorization-configuration.ts'
import type { ChosenAuthorizer } from '#apiserver/authz/standard-authorizer.ts'
import { webhookAuthorizerFrom } from '#apiserver/authz/webhook/webhook-from-configuration.ts'

const webhookTimeoutMs = 30_000

/** The authorizers that flags or a file ask for, in their order. Connections are closed with the stack. */
export async function configuredAuthorizers(
  settings: AuthorizationSettings,
  seams: AccessSeams,
  stack: DisposableStack,
): Promise<ChosenAuthorizer[]> {
  const { authorizers } = await configurationOf(settings, seams)
  const { authorizationPolicyFile: policyFile } = settings
  const hasAbac = authorizers.some(({ type }) => type === 'ABAC')
  if (hasAbac && policyFile === '') throw new Error("authorization-mode ABAC's authorization policy file not passed")
  if (!hasAbac && policyFile !== '') throw new Error('cannot specify --authorization-policy-file without mode ABAC')
  return Promise.all(
    authorizers.map(async ({ type, webhook }): Promise<ChosenAuthorizer> => {
      if (type === 'ABAC') return { mode: type, authorizer: abacAuthorizer(await seams.files.readText(policyFile), policyFile) }
      if (webhook === undefined) return { mode: type }
      return { mode: type, authorizer: stack.use(await webhookAuthorizerFrom(webhook, { ...seams, log: seams.logger })) }
    }),
  )
}

async function configurationOf(settings: AuthorizationSettings, { files }: AccessSeams): Promise<AuthorizationConfiguration> {
  const { authorizationConfig, authorizationMode, authorizationWebhookConfigFile } = settings
  if (authorizationConfig !== '') {
    if (authorizationWebhookConfigFile !== '') {
      throw new Error('--authorization-config cannot be specified together with --authorization-webhook-config-file')
    }
    return parseAuthorizationConfiguration(await files.readText(authorizationConfig), authorizationConfig)
  }
  if (authorizationMode.length === 0) throw new Error('at least one authorization-mode must be passed')
  const repeated = authorizationMode.find((mode, index) => authorizationMode.indexOf(mode) < index)
  if (repeated !== undefined) throw new Error(`authorization-mode ${JSON.stringify(repeated)} has mode specified more than once`)
  if (authorizationWebhookConfigFile !== '' && !authorizationMode.includes('Webhook')) {
    throw new Error('cannot specify --authorization-webhook-config-file without mode Webhook')
  }
  return configurationOfModes(authorizationMode, authorizationWebhookConfigFile === '' ? undefined : webhookOfFlags(settings))
}

function webhookOfFlags(settings: AuthorizationSettings): WebhookConfiguration {
  return {
    timeoutMs: webhookTimeoutMs,
    allowedTtlMs: settings.authorizationWebhookCacheAuthorizedTtl,
    refusedTtlMs: settings.authorizationWebhookCacheUnauthorizedTtl,
    version: settings.authorizationWebhookVersion === 'v1' ? 'v1' : 'v1beta1',
    onError: 'noOpinion',
    kubeconfigFile: settings.authorizationWebhookConfigFile,
  }
}
