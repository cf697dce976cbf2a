/** Everything that flags and files say of access, opened: authenticators, authorizers, admission, encryption. */
import { admissionWebhooks, pluginConfigurations } from '#apiserver/access/admission.ts'
import { configuredAuthentication } from '#apiserver/access/authentication.ts'
import { type ConfiguredAuthorizers, configuredAuthorizers } from '#apiserver/access/authorization.ts'
import { configuredEncryption } from '#apiserver/access/encryption.ts'
import { serviceAccountIssuer } from '#apiserver/access/service-accounts.ts'
import type { AccessSeams, AccessSettings } from '#apiserver/access/settings.ts'
import type { AdmissionContext } from '#apiserver/admission/admission.ts'
import type { PluginConfigurations } from '#apiserver/admission/configuration.ts'
import type { ServiceAccountIssuer } from '#apiserver/authn/service-account/issuer.ts'
import type { MoreAuthenticators } from '#apiserver/authn/standard-authenticator.ts'
import type { EncryptionAtRest } from '#apiserver/encryption/encryption-at-rest.ts'
import type { ServerKeys } from '#apiserver/pki/server-keys.ts'

export type Access = Disposable & {
  readonly serviceAccounts: ServiceAccountIssuer
  readonly authenticators: MoreAuthenticators
  readonly authorizers: ConfiguredAuthorizers
  readonly plugins: PluginConfigurations
  readonly reviewWebhook: NonNullable<AdmissionContext['reviewWebhook']>
  readonly encryption: EncryptionAtRest | undefined
}

export async function openAccess(settings: AccessSettings, keys: ServerKeys, seams: AccessSeams): Promise<Access> {
  using stack = new DisposableStack()
  const serviceAccounts = await serviceAccountIssuer(settings, keys, seams.files)
  const encryption = await configuredEncryption(settings, seams)
  if (encryption !== undefined) stack.use(encryption)
  // Made while requests are served, when the stack has long been moved.
  const connections = new Set<Disposable>()
  stack.defer(() => {
    for (const connection of connections) connection[Symbol.dispose]()
  })
  const access = {
    serviceAccounts,
    encryption,
    authenticators: await configuredAuthentication(settings, serviceAccounts, seams, stack),
    authorizers: await configuredAuthorizers(settings, seams, stack),
    plugins: await pluginConfigurations(settings.admissionControlConfigFile, seams),
    reviewWebhook: admissionWebhooks(seams, connections),
  }
  const opened = stack.move()
  return { ...access, [Symbol.dispose]: () => opened.dispose() }
}
