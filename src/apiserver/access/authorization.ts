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
import { FollowedFiles } from '#base/followed-files.ts'

const webhookTimeoutMs = 30_000
const settleMs = 200

export type ConfiguredAuthorizers = {
  readonly chosen: readonly ChosenAuthorizer[]
  /** Tells what the file of --authorization-config asks for after it changed; a file that is wrong is not told of. */
  onChange(listener: (chosen: readonly ChosenAuthorizer[]) => void): void
}

/** The authorizers that flags or a file ask for, in their order. Connections and the watch of the file end with the stack. */
export async function configuredAuthorizers(
  settings: AuthorizationSettings,
  seams: AccessSeams,
  stack: DisposableStack,
): Promise<ConfiguredAuthorizers> {
  const { files, clock, logger } = seams
  const { authorizationConfig: path, authorizationPolicyFile: policyFile } = settings
  const changes = stack.use(FollowedFiles.at(path === '' ? [] : [path], files, { clock, ms: settleMs }))
  const configuration = await configurationOf(settings, seams)
  const hasAbac = configuration.authorizers.some(({ type }) => type === 'ABAC')
  if (!hasAbac && policyFile !== '') throw new Error('cannot specify --authorization-policy-file without mode ABAC')
  let opened = new DisposableStack()
  stack.defer(() => opened.dispose())
  const chosen = await authorizersOf(configuration, policyFile, seams, opened)
  let listener: (chosen: readonly ChosenAuthorizer[]) => void
  let known = JSON.stringify(configuration)
  const reload = async () => {
    const changed = await configurationOf(settings, seams)
    if (JSON.stringify(changed) === known) return
    using connections = new DisposableStack()
    listener(await authorizersOf(changed, policyFile, seams, connections))
    known = JSON.stringify(changed)
    opened.dispose()
    opened = connections.move()
    logger.info('reloaded AuthorizationConfiguration', { path })
  }
  return {
    chosen,
    onChange(heard) {
      listener = heard
      changes.readAgain(reload, (error) =>
        logger.error('failed to reload AuthorizationConfiguration, keeping the old one', { error: String(error) }),
      )
    },
  }
}

async function authorizersOf(
  { authorizers }: AuthorizationConfiguration,
  policyFile: string,
  seams: AccessSeams,
  connections: DisposableStack,
): Promise<ChosenAuthorizer[]> {
  if (policyFile === '' && authorizers.some(({ type }) => type === 'ABAC')) {
    throw new Error("authorization-mode ABAC's authorization policy file not passed")
  }
  return Promise.all(
    authorizers.map(async ({ type, webhook }): Promise<ChosenAuthorizer> => {
      if (type === 'ABAC') return { mode: type, authorizer: abacAuthorizer(await seams.files.readText(policyFile), policyFile) }
      if (webhook === undefined) return { mode: type }
      return { mode: type, authorizer: connections.use(await webhookAuthorizerFrom(webhook, { ...seams, log: seams.logger })) }
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
