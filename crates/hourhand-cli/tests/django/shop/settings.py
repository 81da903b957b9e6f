import os
from urllib.parse import unquote, urlsplit

DATABASE_URL = os.environ["DATABASE_URL"]
ORDERS_URL = os.environ["ORDERS_URL"]
SECRET_KEY = os.environ["SECRET_KEY"]

url = urlsplit(DATABASE_URL)
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": url.hostname,
        "PORT": url.port,
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "NAME": url.path.lstrip("/"),
    }
}
INSTALLED_APPS = ["orders"]
ROOT_URLCONF = "shop.urls"
WSGI_APPLICATION = "shop.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
