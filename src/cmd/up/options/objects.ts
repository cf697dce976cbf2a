import { defineOptions, list, onOff, text } from '#base/options.ts'

const file = { placeholder: 'FILE', default: '' }

/** What may become of objects on their way to the disk; names are the API server's. */
export const objectOptions = defineOptions({
  enableAdmissionPlugins: list('admission plugins to run beside the default ones', { placeholder: 'LIST', default: ['NodeRestriction'] }),
  disableAdmissionPlugins: list('default admission plugins not to run', { placeholder: 'LIST', default: [] }),
  admissionControlConfigFile: text('an AdmissionConfiguration: what admission plugins are told', file),
  encryptSecrets: text('encrypt secrets on disk with a key in DATA-DIR/pki: auto does in new clusters on the embedded store', {
    ...{ placeholder: 'WHEN', default: 'auto', choices: ['auto', 'on', 'off'] },
  }),
  encryptionProviderConfig: text('an EncryptionConfiguration: which objects are encrypted on disk, and how', file),
  encryptionProviderConfigAutomaticReload: onOff('take over changes of that file', { default: false }),
})
