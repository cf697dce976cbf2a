import type { AccessSeams, ObjectSettings } from '#apiserver/access/settings.ts'
import { EncryptionAtRest } from '#apiserver/encryption/encryption-at-rest.ts'
import { rewriteStaleValues } from '#apiserver/encryption/rewrite-stale.ts'
import { storagePrefix } from '#apiserver/registry/storage-key.ts'
import type { ApiServer } from '#apiserver/server.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import type { Store } from '#store/store.ts'

/** What --encryption-provider-config asks for; undefined where it is not given. */
export async function configuredEncryption(settings: ObjectSettings, seams: AccessSeams): Promise<EncryptionAtRest | undefined> {
  const { encryptionProviderConfig: path, encryptionProviderConfigAutomaticReload: reload } = settings
  if (path === '') {
    if (reload) throw new Error('--encryption-provider-config-automatic-reload needs --encryption-provider-config')
    return undefined
  }
  const { files, clock, random, logger, connect } = seams
  return EncryptionAtRest.open({ files, path, clock, random, log: logger, reload, connect })
}

/** How far an API server is with the configuration of its encryption, by the configuration's hash. */
export const configInUse = 'apiserver_encryption_config_controller_last_config_info'
export const configRewritten = 'typernetes_encryption_rewritten_config_info'

/** Writes anew, now and after each change of the configuration, what lies in the store under other keys; tells health of key services. */
export function keepEncrypted(
  server: ApiServer,
  encryption: EncryptionAtRest,
  store: Store,
  { logger, metrics }: { logger: Logger; metrics: Metrics },
): Disposable {
  const abort = new AbortController()
  let running = Promise.resolve()
  let rewritten = ''
  metrics.measured(configRewritten, 'Configuration of encryption under which everything is stored.', () => [[{ hash: rewritten }, 1]])
  const rewrite = async () => {
    const { hash } = encryption
    for (const { definition, transformer } of server.registries.all()) {
      if (transformer === undefined || abort.signal.aborted) continue
      const written = await rewriteStaleValues(store, storagePrefix(definition), transformer, abort.signal)
      if (written > 0) logger.info('re-encrypted stored objects', { resource: definition.plural, written })
    }
    rewritten = hash
  }
  const start = () => {
    running = running.then(rewrite).catch((error: unknown) => {
      if (!abort.signal.aborted) logger.error('failed to re-encrypt stored objects', { error: String(error) })
    })
  }
  server.health.add({ name: 'kms-providers', run: () => encryption.problems[0] })
  const following = encryption.onChange(start)
  start()
  return {
    [Symbol.dispose]() {
      abort.abort()
      following[Symbol.dispose]()
    },
  }
}
