# A bundle's server on Cloud Run, on processors or with a GPU (../gpu). The caller provides the
# provider's project and credentials.
terraform {
  required_version = ">= 1.6"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 6.0"
    }
  }
}

# The service may read its API key, and nothing else in the project.
resource "google_service_account" "ranklet" {
  project      = var.project
  account_id   = var.name
  display_name = "${var.name} on Cloud Run"
}

resource "google_secret_manager_secret_iam_member" "key" {
  project   = var.project
  secret_id = var.api_key_secret
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${google_service_account.ranklet.email}"
}

resource "google_cloud_run_v2_service" "ranklet" {
  project             = var.project
  name                = var.name
  location            = var.region
  ingress             = "INGRESS_TRAFFIC_ALL"
  deletion_protection = false

  template {
    service_account                  = google_service_account.ranklet.email
    execution_environment            = "EXECUTION_ENVIRONMENT_GEN2"
    timeout                          = "60s"
    max_instance_request_concurrency = var.concurrency
    gpu_zonal_redundancy_disabled    = var.accelerator == "" ? null : true

    scaling {
      min_instance_count = 0
      max_instance_count = var.max_instances
    }

    dynamic "node_selector" {
      for_each = var.accelerator == "" ? [] : [var.accelerator]
      content {
        accelerator = node_selector.value
      }
    }

    containers {
      image = var.image

      ports {
        container_port = 8080
      }

      resources {
        limits = merge(
          { cpu = var.cpu, memory = var.memory },
          var.accelerator == "" ? {} : { "nvidia.com/gpu" = "1" },
        )
        cpu_idle          = var.accelerator == "" # a GPU is billed per instance
        startup_cpu_boost = true
      }

      env {
        name  = "GOOGLE_CLOUD_PROJECT"
        value = var.project
      }

      env {
        name = "RANKLET_API_KEY"
        value_source {
          secret_key_ref {
            secret  = var.api_key_secret
            version = "latest"
          }
        }
      }

      startup_probe {
        period_seconds    = 1
        timeout_seconds   = 1
        failure_threshold = 120
        http_get {
          path = "/readyz"
        }
      }

      liveness_probe {
        period_seconds    = 10
        timeout_seconds   = 2
        failure_threshold = 3
        http_get {
          path = "/healthz"
        }
      }
    }
  }

  depends_on = [google_secret_manager_secret_iam_member.key]
}

resource "google_cloud_run_v2_service_iam_member" "public" {
  count    = var.public ? 1 : 0
  project  = var.project
  name     = google_cloud_run_v2_service.ranklet.name
  location = var.region
  role     = "roles/run.invoker"
  member   = "allUsers"
}

output "url" {
  description = "The address of the service."
  value       = google_cloud_run_v2_service.ranklet.uri
}
