/** The documented rules of the standards, field by field: what they accept and what they reject. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'
import { detailsText, podChecks, violations } from '#apiserver/admission/pod-security/checks.ts'
import { type Level, parseVersion } from '#apiserver/admission/pod-security/level-version.ts'
import { defined } from '#base/defined.ts'

type Spec = Record<string, unknown>
type Case = { spec?: Spec; annotations?: Record<string, string>; version?: string; breaks?: string }

const container = (securityContext?: object, more: object = {}) => ({
  name: 'c',
  image: 'x',
  ...defined({ securityContext }),
  ...more,
})
const ofContainer = (securityContext: object): Spec => ({ containers: [container(securityContext)] })
const ofPod = (securityContext: object): Spec => ({ securityContext })

/** A pod that keeps to the restricted standard, whatever the rule under test. */
const modestContext = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }
const modestPod = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }
const modest: Spec = { containers: [container(modestContext)], securityContext: modestPod }

function modestWith(spec: Spec): Spec {
  const containers = (spec['containers'] as ReturnType<typeof container>[] | undefined) ?? [container()]
  return {
    ...modest,
    ...spec,
    securityContext: { ...modestPod, ...(spec['securityContext'] as object | undefined) },
    containers: containers.map((each) => ({ ...each, securityContext: { ...modestContext, ...each.securityContext } })),
  }
}

function broken(level: Level, { spec = {}, annotations = {}, version = 'latest' }: Case): string {
  const whole = (level === 'restricted' ? modestWith(spec) : { containers: [container()], ...spec }) as unknown as V1PodSpec
  return detailsText(violations({ level, minor: parseVersion(version) ?? 0 }, whole, { annotations }))
}

const baseline: Record<string, Case[]> = {
  'host namespaces': [
    { spec: { hostNetwork: false, hostPID: false, hostIPC: false } },
    { spec: { hostNetwork: true }, breaks: 'host namespaces (hostNetwork=true)' },
    { spec: { hostPID: true, hostIPC: true }, breaks: 'host namespaces (hostPID=true, hostIPC=true)' },
  ],
  'privileged containers': [
    { spec: ofContainer({ privileged: false }) },
    { spec: ofContainer({ privileged: true }), breaks: 'privileged (container "c" must not set securityContext.privileged=true)' },
    {
      spec: {
        initContainers: [{ name: 'i', securityContext: { privileged: true } }],
        ephemeralContainers: [{ name: 'e', securityContext: { privileged: true } }],
      },
      breaks: 'privileged (containers "i", "e" must not set securityContext.privileged=true)',
    },
  ],
  capabilities: [
    ...[
      'AUDIT_WRITE',
      'CHOWN',
      'DAC_OVERRIDE',
      'FOWNER',
      'FSETID',
      'KILL',
      'MKNOD',
      'NET_BIND_SERVICE',
      'SETFCAP',
      'SETGID',
      'SETPCAP',
      'SETUID',
      'SYS_CHROOT',
    ].map((name) => ({ spec: ofContainer({ capabilities: { add: [name] } }) })),
    ...['NET_RAW', 'SYS_ADMIN', 'ALL', 'CAP_CHOWN'].map((name) => ({
      spec: ofContainer({ capabilities: { add: [name] } }),
      breaks: `non-default capabilities (container "c" must not include "${name}" in securityContext.capabilities.add)`,
    })),
  ],
  'hostPath volumes': [
    {
      spec: {
        volumes: [
          { name: 'v', emptyDir: {} },
          { name: 'n', nfs: {} },
        ],
      },
    },
    { spec: { volumes: [{ name: 'h', hostPath: { path: '/' } }] }, breaks: 'hostPath volumes (volume "h")' },
    {
      spec: {
        volumes: [
          { name: 'a', hostPath: {} },
          { name: 'b', hostPath: {} },
        ],
      },
      breaks: 'hostPath volumes (volumes "a", "b")',
    },
  ],
  'host ports': [
    { spec: { containers: [container(undefined, { ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 0 }] })] } },
    { spec: { containers: [container(undefined, { ports: [{ hostPort: 80 }] })] }, breaks: 'hostPort (container "c" uses hostPort 80)' },
    {
      spec: { containers: [container(undefined, { ports: [{ hostPort: 9 }, { hostPort: 80 }] }), { name: 'd', ports: [{ hostPort: 9 }] }] },
      breaks: 'hostPort (containers "c", "d" use hostPorts 80, 9)',
    },
  ],
  'hosts of probes and lifecycle handlers': [
    {
      spec: { containers: [container(undefined, { livenessProbe: { httpGet: { host: '' } }, lifecycle: { preStop: { tcpSocket: {} } } })] },
    },
    ...[
      { livenessProbe: { httpGet: { host: 'h' } } },
      { readinessProbe: { tcpSocket: { host: 'h' } } },
      { startupProbe: { httpGet: { host: 'h' } } },
      { lifecycle: { postStart: { httpGet: { host: 'h' } } } },
      { lifecycle: { preStop: { tcpSocket: { host: 'h' } } } },
    ].map((handlers) => ({
      spec: { containers: [container(undefined, handlers)] },
      breaks: 'probe or lifecycle host (container "c" uses probe or lifecycle host "h")',
    })),
    { spec: { containers: [container(undefined, { livenessProbe: { httpGet: { host: 'h' } } })] }, version: 'v1.33' },
  ],
  'Windows host processes': [
    { spec: ofPod({ windowsOptions: { hostProcess: false } }) },
    {
      spec: { ...ofPod({ windowsOptions: { hostProcess: true } }), ...ofContainer({ windowsOptions: { hostProcess: true } }) },
      breaks: 'hostProcess (pod and container "c" must not set securityContext.windowsOptions.hostProcess=true)',
    },
  ],
  AppArmor: [
    ...['RuntimeDefault', 'Localhost'].map((type) => ({ spec: ofPod({ appArmorProfile: { type } }) })),
    {
      spec: { ...ofPod({ appArmorProfile: { type: 'Unconfined' } }), ...ofContainer({ appArmorProfile: { type: 'Unconfined' } }) },
      breaks: 'forbidden AppArmor profile (pod and container "c" must not set AppArmor profile type to "Unconfined")',
    },
    ...['', 'runtime/default', 'localhost/mine'].map((value) => ({
      annotations: { 'container.apparmor.security.beta.kubernetes.io/c': value },
    })),
    {
      annotations: { 'container.apparmor.security.beta.kubernetes.io/c': 'unconfined' },
      breaks:
        'forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/c="unconfined"")',
    },
  ],
  SELinux: [
    ...['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'].map((type) => ({
      spec: ofPod({ seLinuxOptions: { type } }),
    })),
    { spec: ofContainer({ seLinuxOptions: { level: 's0' } }) },
    {
      spec: ofPod({ seLinuxOptions: { type: 'container_engine_t' } }),
      version: 'v1.30',
      breaks: 'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "container_engine_t")',
    },
    {
      spec: ofContainer({ seLinuxOptions: { type: 'x', user: 'u', role: 'r' } }),
      breaks:
        'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: type "x"; user may not be set; role may not be set)',
    },
  ],
  procMount: [
    { spec: ofContainer({ procMount: 'Default' }) },
    {
      spec: ofContainer({ procMount: 'Unmasked' }),
      breaks: 'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    },
    { spec: { ...ofContainer({ procMount: 'Unmasked' }), hostUsers: false } },
    {
      spec: { ...ofContainer({ procMount: 'Unmasked' }), hostUsers: false },
      version: 'v1.34',
      breaks: 'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    },
  ],
  seccomp: [
    ...['RuntimeDefault', 'Localhost'].map((type) => ({ spec: ofPod({ seccompProfile: { type } }) })),
    {
      spec: { ...ofPod({ seccompProfile: { type: 'Unconfined' } }), ...ofContainer({ seccompProfile: { type: 'Odd' } }) },
      breaks: 'seccompProfile (pod and container "c" must not set securityContext.seccompProfile.type to "Odd", "Unconfined")',
    },
    ...['runtime/default', 'docker/default', 'localhost/x'].map((value) => ({
      annotations: { 'seccomp.security.alpha.kubernetes.io/pod': value },
      version: 'v1.18',
    })),
    {
      annotations: {
        'seccomp.security.alpha.kubernetes.io/pod': 'unconfined',
        'container.seccomp.security.alpha.kubernetes.io/c': 'unconfined',
      },
      version: 'v1.18',
      breaks:
        'seccompProfile (forbidden annotations container.seccomp.security.alpha.kubernetes.io/c="unconfined", seccomp.security.alpha.kubernetes.io/pod="unconfined")',
    },
    { annotations: { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' }, version: 'v1.19' },
  ],
  sysctls: [
    ...[
      'kernel.shm_rmid_forced',
      'net.ipv4.ip_local_port_range',
      'net.ipv4.tcp_syncookies',
      'net.ipv4.ping_group_range',
      'net.ipv4.ip_unprivileged_port_start',
    ].map((name) => ({ spec: ofPod({ sysctls: [{ name, value: '1' }] }), version: 'v1.0' })),
    ...(
      [
        ['net.ipv4.ip_local_reserved_ports', 'v1.26', 'v1.27'],
        ['net.ipv4.tcp_keepalive_time', 'v1.28', 'v1.29'],
        ['net.ipv4.tcp_fin_timeout', 'v1.28', 'v1.29'],
        ['net.ipv4.tcp_keepalive_intvl', 'v1.28', 'v1.29'],
        ['net.ipv4.tcp_keepalive_probes', 'v1.28', 'v1.29'],
        ['net.ipv4.tcp_rmem', 'v1.31', 'v1.32'],
        ['net.ipv4.tcp_wmem', 'v1.31', 'v1.32'],
      ] as const
    ).flatMap(([name, refusing, accepting]) => [
      { spec: ofPod({ sysctls: [{ name }] }), version: refusing, breaks: `forbidden sysctls (${name})` },
      { spec: ofPod({ sysctls: [{ name }] }), version: accepting },
    ]),
    { spec: ofPod({ sysctls: [{ name: 'kernel.msgmax' }, { name: 'a.b' }] }), breaks: 'forbidden sysctls (kernel.msgmax, a.b)' },
  ],
}

const mustDropAll = 'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"])'
const mustSetSeccomp =
  'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'

const restricted: Record<string, Case[]> = {
  'volume types': [
    ...['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'image', 'persistentVolumeClaim', 'projected', 'secret'].map(
      (type) => ({
        spec: { volumes: [{ name: 'v', [type]: {} }] },
      }),
    ),
    ...[
      'hostPath',
      'gcePersistentDisk',
      'awsElasticBlockStore',
      'gitRepo',
      'nfs',
      'iscsi',
      'glusterfs',
      'rbd',
      'flexVolume',
      'cinder',
      'cephfs',
      'flocker',
      'fc',
      'azureFile',
      'vsphereVolume',
      'quobyte',
      'azureDisk',
      'photonPersistentDisk',
      'portworxVolume',
      'scaleIO',
      'storageos',
    ].map((type) => ({
      spec: { volumes: [{ name: 'v', [type]: {} }] },
      breaks: `restricted volume types (volume "v" uses restricted volume type "${type}")`,
    })),
    {
      spec: {
        volumes: [
          { name: 'v', odd: {} },
          { name: 'w', nfs: {} },
        ],
      },
      breaks: 'restricted volume types (volumes "v", "w" use restricted volume types "nfs", "unknown")',
    },
  ],
  'privilege escalation': [
    { spec: ofContainer({ allowPrivilegeEscalation: false }) },
    ...[true, undefined].map((value) => ({
      spec: ofContainer({ allowPrivilegeEscalation: value }),
      breaks: 'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)',
    })),
    { spec: ofContainer({ allowPrivilegeEscalation: true }), version: 'v1.7' },
    { spec: { ...ofContainer({ allowPrivilegeEscalation: true }), os: { name: 'windows' } } },
    {
      spec: { ...ofContainer({ allowPrivilegeEscalation: true }), os: { name: 'windows' } },
      version: 'v1.24',
      breaks: 'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)',
    },
  ],
  'running as other than root': [
    { spec: ofPod({ runAsNonRoot: true }) },
    { spec: { ...ofPod({ runAsNonRoot: undefined }), ...ofContainer({ runAsNonRoot: true }) } },
    {
      spec: ofPod({ runAsNonRoot: undefined }),
      breaks: 'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
    },
    {
      spec: { ...ofPod({ runAsNonRoot: false }), ...ofContainer({ runAsNonRoot: true }) },
      breaks: 'runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)',
    },
    {
      spec: ofContainer({ runAsNonRoot: false }),
      breaks: 'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)',
    },
    { spec: { ...ofPod({ runAsNonRoot: undefined }), hostUsers: false } },
    {
      spec: { ...ofPod({ runAsNonRoot: undefined }), hostUsers: false },
      version: 'v1.34',
      breaks: 'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
    },
  ],
  'running as user 0': [
    { spec: ofPod({ runAsUser: 1000 }) },
    { spec: ofPod({ runAsUser: 0 }), breaks: 'runAsUser=0 (pod must not set runAsUser=0)' },
    { spec: ofContainer({ runAsUser: 0 }), breaks: 'runAsUser=0 (container "c" must not set runAsUser=0)' },
    { spec: ofPod({ runAsUser: 0 }), version: 'v1.22' },
    { spec: { ...ofPod({ runAsUser: 0 }), hostUsers: false } },
  ],
  seccomp: [
    { spec: ofPod({ seccompProfile: { type: 'Localhost' } }) },
    { spec: { ...ofPod({ seccompProfile: undefined }), ...ofContainer({ seccompProfile: { type: 'RuntimeDefault' } }) } },
    { spec: ofPod({ seccompProfile: undefined }), breaks: mustSetSeccomp },
    {
      spec: ofPod({ seccompProfile: { type: 'Unconfined' } }),
      breaks: 'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    },
    {
      spec: ofContainer({ seccompProfile: { type: 'Unconfined' } }),
      breaks: 'seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
    },
    { spec: ofPod({ seccompProfile: undefined }), version: 'v1.18' },
    { spec: { ...ofPod({ seccompProfile: undefined }), os: { name: 'windows' } } },
    { spec: { ...ofPod({ seccompProfile: undefined }), os: { name: 'windows' } }, version: 'v1.24', breaks: mustSetSeccomp },
  ],
  capabilities: [
    { spec: ofContainer({ capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } }) },
    { spec: ofContainer({ capabilities: { drop: ['CHOWN'] } }), breaks: mustDropAll },
    { spec: ofContainer({ capabilities: undefined }), breaks: mustDropAll },
    {
      spec: ofContainer({ capabilities: { drop: ['ALL'], add: ['SYS_TIME', 'CHOWN'] } }),
      breaks: 'unrestricted capabilities (container "c" must not include "CHOWN", "SYS_TIME" in securityContext.capabilities.add)',
    },
    { spec: ofContainer({ capabilities: undefined }), version: 'v1.21' },
    {
      spec: ofContainer({ capabilities: { add: ['SYS_TIME'] } }),
      version: 'v1.21',
      breaks: 'non-default capabilities (container "c" must not include "SYS_TIME" in securityContext.capabilities.add)',
    },
    { spec: { ...ofContainer({ capabilities: undefined }), os: { name: 'windows' } } },
  ],
  procMount: [
    {
      spec: { ...ofContainer({ procMount: 'Unmasked' }), hostUsers: false },
      breaks: 'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    },
  ],
}

for (const [level, rules] of Object.entries({ baseline, restricted }) as [Level, Record<string, Case[]>][]) {
  for (const [rule, cases] of Object.entries(rules)) {
    test(`${level}: ${rule}`, () => {
      for (const each of cases) {
        assert.equal(broken(level, each), each.breaks ?? '', JSON.stringify(each))
        assert.equal(broken('privileged', each), '')
      }
    })
  }
}

test('the restricted standard refuses everything the baseline refuses', () => {
  for (const cases of Object.values(baseline)) {
    for (const each of cases.filter(({ breaks }) => breaks !== undefined)) {
      assert.notEqual(broken('restricted', each), '', `the restricted standard lets ${JSON.stringify(each)} through`)
    }
  }
})

test('versions of the future are validated as the newest one that is known', () => {
  const each: Case = { spec: ofPod({ runAsUser: 0 }) }
  assert.equal(broken('restricted', { ...each, version: 'v1.99' }), broken('restricted', each))
})

test('every rule is in the list once, with its versions ascending', () => {
  assert.equal(new Set(podChecks.map(({ id }) => id)).size, podChecks.length)
  for (const { id, versions } of podChecks) {
    assert.ok(
      versions.every(({ since }, index) => index === 0 || since > (versions[index - 1]?.since ?? 0)),
      id,
    )
  }
})
